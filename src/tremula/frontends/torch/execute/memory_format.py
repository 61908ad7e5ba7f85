"""Weights channels last in the host's memory, where its convolutions run up to a quarter faster that way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import TorchProgram, tensors_of

_VIEWS = frozenset([torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default])
_CONVOLUTION = torch.ops.aten.convolution.default
_CAST = torch.ops.aten._to_copy.default
#: ops whose result depends on how their operand lies in memory
_STRIDE_BOUND = ("as_strided", "empty_strided", "_reshape_alias", "view_as_real", "view_as_complex", "set_")
#: of weights of two- and three-dimensional convolutions
_RANKS = (4, 5)
#: with fewer channels than this on both sides the order does not pay
_LEAST_CHANNELS = 8


def channels_last_parameters(program: TorchProgram) -> frozenset[str]:
    """Names of the convolution weights that should be kept channels last; none where that is not safe."""
    placeholders = [node for node in program.step.graph.nodes if node.op == "placeholder"]
    parameters = dict(zip(placeholders, program.interface.parameters, strict=False))
    chosen = set()
    worth = False
    for node in program.step.graph.nodes:
        if node.target is not _CONVOLUTION:
            continue
        weight = node.args[1]
        while weight.target is _CAST:
            weight = weight.args[0]
        if weight in parameters and tensors_of(weight)[0].dim() in _RANKS:
            chosen.add(parameters[weight])
            worth = worth or max(tensors_of(weight)[0].shape[:2]) >= _LEAST_CHANNELS
    if not worth or not _order_free(program.step.graph):
        return frozenset()
    return frozenset(chosen)


def placed(state: Mapping[str, torch.Tensor], channels_last: frozenset[str]) -> dict[str, torch.Tensor]:
    """The tensors of `state`, those named in `channels_last` in that order."""
    return {
        name: _channels_last(tensor) if name in channels_last and tensor.dim() in _RANKS else tensor
        for name, tensor in state.items()
    }


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with strides that say so even where there is but one channel: convolutions go by them."""
    order = [0, *range(2, tensor.dim()), 1]
    strides = [1] * tensor.dim()
    for outer, inner in reversed(list(itertools.pairwise(order))):
        strides[outer] = strides[inner] * tensor.shape[inner]
    empty = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return empty.copy_(tensor.detach())


def allow_any_order(graph: fx.Graph) -> None:
    """Make views copy where the order in memory does not allow a view."""
    for node in graph.nodes:
        if node.op == "call_function" and node.target in _VIEWS:
            node.target = torch.ops.aten.reshape.default


def _order_free(graph: fx.Graph) -> bool:
    """Whether nothing in the graph depends on strides: no op that reads them, no write through a view."""
    through_view: set[fx.Node] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        target: Any = node.target
        if not isinstance(target, torch._ops.OpOverload):
            if any(source in through_view for source in node.all_input_nodes):
                through_view.add(node)
            continue
        if target._schema.name.split("::")[-1].startswith(_STRIDE_BOUND):
            return False
        if target in _VIEWS:
            through_view.add(node)
            continue
        for position, argument in enumerate(target._schema.arguments):
            if argument.alias_info is None or position >= len(node.args):
                continue
            operands = node.args[position]
            for operand in operands if isinstance(operands, list | tuple) else (operands,):
                if operand in through_view:
                    if argument.alias_info.is_write:
                        return False
                    through_view.add(node)
    return True
