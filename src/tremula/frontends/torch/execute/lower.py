"""From captured graph to the quick form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.bindings import fast_binding
from tremula.frontends.torch.execute.folding import drop_detached, drop_unused
from tremula.frontends.torch.execute.kernels import pick_kernels
from tremula.frontends.torch.execute.memory_format import allow_any_order
from tremula.frontends.torch.execute.pointwise import pick_pointwise
from tremula.frontends.torch.execute.pooling import pick_pooling
from tremula.frontends.torch.execute.products import pick_products
from tremula.frontends.torch.execute.traps import TrappingInterpreter


def lower(
    module: fx.GraphModule,
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
    if any_order:
        allow_any_order(graph)
    pick_kernels(graph)
    if not any_order:
        pick_pointwise(graph)
    pick_products(graph)
    pick_pooling(graph)
    if traps:
        return TrappingInterpreter(fx.GraphModule(module, graph))
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            node.target = fast_binding(node.target)
    return fx.GraphModule(module, graph).forward
