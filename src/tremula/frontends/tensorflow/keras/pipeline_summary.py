"""The table that `print_pipeline_stage_assignment_summary` of a Keras model prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: heading of each column, and where it ends, as a part of the line
CALLS = (("Layer (type) (node index)", 0.4), ("Input Layers", 0.8), ("Pipeline Stage", 1.0))
LAYERS = (("Layer (type)", 0.5), ("Pipeline Stage", 1.0))


def write(
    name: str,
    assignments: Sequence[Any],
    columns: Sequence[tuple[str, float]],
    width: int,
    write_line: Callable[[str], Any],
) -> None:
    """Write the table.

    Args:
        name: of the model.
        assignments: what `get_pipeline_stage_assignment` gives.
        columns: `CALLS` or `LAYERS`.
        width: of a line.
        write_line: gets each line.
    """
    ends = [int(width * part) for _, part in columns]
    write_line(f'Model: "{name}"')
    write_line("_" * width)
    write_line(_row([heading for heading, _ in columns], ends))
    write_line("=" * width)
    _body(assignments, len(columns) == len(CALLS), ends, width, write_line)


def _body(
    assignments: Sequence[Any],
    with_calls: bool,
    ends: Sequence[int],
    width: int,
    write_line: Callable[[str], Any],
) -> None:
    following = [*assignments[1:], None]
    for one, after in zip(assignments, following, strict=True):
        if one.is_nested_model:
            write_line(f'Nested Model: "{one.nested_model.name}"')
            write_line("-" * width)
            _body(one.pipeline_stage_assignments, with_calls, ends, width, write_line)
            continue
        for fields in _rows(one, with_calls):
            write_line(_row(fields, ends))
        write_line(("=" if after is None or after.is_nested_model else "_") * width)


def _rows(assignment: Any, with_calls: bool) -> list[list[str]]:
    layer, stage = assignment.layer, str(assignment.pipeline_stage)
    label = f"{layer.name} ({type(layer).__name__})"
    if not with_calls:
        return [[label, stage]]
    if not hasattr(assignment, "node_index"):
        return [[label, "", stage]]
    sources = [source.name for source in assignment.inbound_layers] or [""]
    first = [f"{label} ({assignment.node_index})", sources[0], stage]
    return [first, *(["", source, ""] for source in sources[1:])]


def _row(fields: Sequence[str], ends: Sequence[int]) -> str:
    line = ""
    for text, end in zip(fields, ends, strict=True):
        room = end - len(line) - (end != ends[-1])
        line += text[:room].ljust(end - len(line))
    return line
