"""The program as a list of ops: what readers of it, the chip model first, go through.

Every node that computes something is one `GraphOp` with static shapes and dtypes, its phase, placement, scope,
attributes and the user's line. Nodes that only pick one of several results are folded into the names.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import getitem

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import GraphOp, TensorInfo, TorchProgram, record_of


def ops(program: TorchProgram) -> Iterator[GraphOp]:
    """All ops in the order in which a step runs them: forward, backward, accumulation, update."""
    for node in program.nodes():
        if node.target is getitem:
            continue
        record = record_of(node)
        yield GraphOp(
            name=node.name,
            target=_target(node),
            phase=record.phase,
            placement=record.annotation.placement,
            scope=record.annotation.scope,
            attributes=record.annotation.attributes,
            source=record.source,
            inputs=tuple(tensor_name(source) for source in node.all_input_nodes),
            outputs=_outputs(node),
            node=node,
        )


def tensor_name(node: fx.Node) -> str:
    """The name of a node's tensor; one of several results is `op:index`."""
    if node.target is getitem and isinstance(node.args[0], fx.Node):
        return f"{node.args[0].name}:{node.args[1]}"
    return node.name


def _outputs(node: fx.Node) -> tuple[TensorInfo, ...]:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return (TensorInfo(node.name, tuple(value.shape), value.dtype),)
    # numbered by their place among the results, of which some may be missing: a gradient that nobody wants
    return tuple(
        TensorInfo(f"{node.name}:{index}", tuple(tensor.shape), tensor.dtype)
        for index, tensor in enumerate(value if isinstance(value, list | tuple) else ())
        if isinstance(tensor, torch.Tensor)
    )


def _target(node: fx.Node) -> str:
    target = node.target
    return target._schema.name if isinstance(target, torch._ops.OpOverload) else str(target)
