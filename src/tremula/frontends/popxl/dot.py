"""Graphs as Graphviz files."""

from __future__ import annotations

from pathlib import Path

from tremula.atomic_files import write_text_atomically
from tremula.frontends.popxl.model import Graph, Ir


def write_all(ir: Ir, folder: Path, check: str) -> None:
    """Write a file for each graph with ops."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, graph in enumerate(ir.graphs.values()):
        if graph.ops:
            name = f"{check}_{number:03d}_{_file_name(graph)}.dot"
            write_text_atomically(folder / name, dot_text(graph))


def _file_name(graph: Graph) -> str:
    return "".join(
        letter if letter.isalnum() or letter in "_." else "_" for letter in graph.identifier or "main"
    )


def dot_text(graph: Graph) -> str:
    """One graph: its ops, and the tensors between them."""
    lines = [f'digraph "{graph.identifier or "main"}" {{']
    for op in graph.ops:
        lines.append(f'  op{op.identifier} [shape=box, label="{op.kind}\\n{_quoted(op.settings.name)}"];')
        for tensor in op.inputs.values():
            label = _quoted(f"{tensor.name} {list(tensor.type.shape)}")
            if tensor.producer is not None:
                lines.append(f'  op{tensor.producer.identifier} -> op{op.identifier} [label="{label}"];')
            else:
                lines.append(f'  "{_quoted(tensor.identifier)}" -> op{op.identifier} [label="{label}"];')
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
