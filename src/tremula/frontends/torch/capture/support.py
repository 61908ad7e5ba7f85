"""Which ops of a program PopTorch is not known to support (`support_table`), since they run here without notice. Ops
on constants do not count: the real compiler computes those on the host.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import fx

from tremula import log
from tremula.frontends.torch.capture.support_table import KNOWN_NAMESPACES, KNOWN_OPS
from tremula.frontends.torch.graphs.program import TorchProgram, record_of
from tremula.program.op import Phase, SourceLine
from tremula.program.variant import UnknownOp


def varying_nodes(graph: fx.Graph) -> set[fx.Node]:
    """Nodes that depend on an input of the graph or on random numbers; the others are constants."""
    varying: set[fx.Node] = set()
    for node in graph.nodes:
        if (
            node.op == "placeholder"
            or _draws_random(node)
            or any(source in varying for source in node.all_input_nodes)
        ):
            varying.add(node)
    return varying


def _draws_random(node: fx.Node) -> bool:
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def op_name(target: torch._ops.OpOverload) -> str:
    """The name of an op without overload: `add` for aten::add_.Tensor, `torchvision::nms` outside aten."""
    namespace, _, name = target._schema.name.partition("::")
    if namespace != "aten":
        return f"{namespace}::{name}"
    return name if name.endswith("__") else name.removesuffix("_")


def is_known(target: torch._ops.OpOverload) -> bool:
    """Whether PopTorch is known to support this op (in some form), or Tremula brings it itself."""
    name = op_name(target)
    return name in KNOWN_OPS or name.partition("::")[0] in KNOWN_NAMESPACES


def unknown_ops(program: TorchProgram) -> list[UnknownOp]:
    """The ops of the forward pass that PopTorch is not known to support, each once, in program order."""
    return unknown_ops_of(program.step.graph)


def unknown_ops_of(graph: fx.Graph) -> list[UnknownOp]:
    """The same for the graph of a step."""
    varying = varying_nodes(graph)
    lines: OrderedDict[str, list[SourceLine]] = OrderedDict()
    for node in graph.nodes:
        target = node.target
        if node not in varying or not isinstance(target, torch._ops.OpOverload) or is_known(target):
            continue
        record = record_of(node)
        if record.phase is not Phase.FORWARD:
            continue  # the real stack differentiates with ops of its own
        found = lines.setdefault(op_name(target), [])
        if record.source is not None and record.source not in found:
            found.append(record.source)
    return [UnknownOp(name, tuple(found)) for name, found in lines.items()]


def warn_of_unknown_ops(graph: fx.Graph) -> None:
    """One warning, once per set of ops, that lists them with their lines."""
    unknown = unknown_ops_of(graph)
    if not unknown:
        return
    names = sorted(op.name for op in unknown)
    listed = "\n".join(f"  {op}" for op in unknown)
    log.warn_once(
        f"unknown ops {' '.join(names)}",
        f"PopTorch is not known to support {len(names)} op{'s' if len(names) > 1 else ''} of this model "
        f"on hardware (here {'they run' if len(names) > 1 else 'it runs'}):\n{listed}\n"
        "To make the model portable, rewrite the line with supported ops, use a custom op, or put poptorch.CPU "
        "around it.",
    )
