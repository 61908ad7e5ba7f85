"""From captured graph to the quick form. Where the host has no kernel for a dtype, found by trying each distinct op
once, the op computes in float32 and rounds the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from tremula.frontends.torch.execute.bindings import fast_binding
from tremula.frontends.torch.execute.folding import drop_unused
from tremula.frontends.torch.execute.half_products import widen
from tremula.frontends.torch.execute.kernels import pick_kernels
from tremula.frontends.torch.execute.memory_format import allow_any_order
from tremula.frontends.torch.execute.precision import (
    DEFAULT_PRECISION,
    ComputedInFloat,
    Precision,
    apply_precision,
)
from tremula.frontends.torch.execute.traps import TrappingInterpreter
from tremula.frontends.torch.graphs.program import tensors_of

_DETACH = torch.ops.aten.detach.default
_PROBED: dict[tuple[Any, ...], bool] = {}


def lower(
    module: fx.GraphModule,
    precision: Precision = DEFAULT_PRECISION,
    *,
    traps: bool = False,
    any_order: bool = False,
) -> Callable[..., Any]:
    """A callable that runs a copy of the captured graph on host tensors. `traps` stops at the first floating-point
    exception; with `any_order`, operands may lie in memory otherwise than at the capture.
    """
    drop_detached(module.graph)
    graph = fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    drop_unused(graph)
    apply_precision(graph, precision)
    if any_order:
        allow_any_order(graph)
    widen(graph)
    pick_kernels(graph)
    for node in graph.nodes:
        if node.op == "call_function" and _lacks_kernel(node):
            node.target = ComputedInFloat(node, torch.Tensor.half, "in_float32")
    if traps:
        return TrappingInterpreter(fx.GraphModule(module, graph))
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            node.target = fast_binding(node.target)
    return fx.GraphModule(module, graph).forward


def drop_detached(graph: fx.Graph) -> None:
    """Remove detach ops: they matter to autograd, which has already run."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is _DETACH:
            source = node.args[0]
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def _lacks_kernel(node: fx.Node) -> bool:
    """Whether the host refuses to compute this op in the captured dtypes."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return False
    dtypes = [t.dtype for arg in node.all_input_nodes for t in tensors_of(arg)]
    dtypes += [t.dtype for t in tensors_of(node)]
    if torch.float16 not in dtypes:
        return False
    key = (node.target, *dtypes, *(isinstance(a, fx.Node) for a in node.args))
    if key not in _PROBED:
        _PROBED[key] = not _runs(node)
    return _PROBED[key]


def _runs(node: fx.Node) -> bool:
    def sample(operand: fx.Node) -> Any:
        return pytree.tree_map_only(
            torch.Tensor,
            lambda fake: torch.ones(fake.shape, dtype=fake.dtype),
            operand.meta["val"],
        )

    args, kwargs = fx.node.map_arg((node.args, node.kwargs), sample)
    try:
        with torch.no_grad(), torch.random.fork_rng():
            target: Any = node.target
            target(*args, **kwargs)
    except (RuntimeError, NotImplementedError):
        return False  # no kernel for half, or none for this mixture of half and float
    return True
