"""Maximum pooling without places, as maxima of strided slices, rows first: several times as fast as the host's kernel,
which finds the place of each maximum as well and goes element by element where channels do not lie together.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_POOLING = _ATEN.max_pool2d_with_indices.default
#: larger windows take more passes over the image than they save
_LARGEST_WINDOW = 3


def pick_pooling(graph: fx.Graph) -> None:
    """Rewrite the poolings of `graph` of which nobody takes the places."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is _POOLING and not node.kwargs:
            window = _window(node)
            if window is not None and all(_takes_maxima(user) for user in node.users):
                _rewrite(graph, node, *window)


def _takes_maxima(user: fx.Node) -> bool:
    if user.target is not operator.getitem:
        return False
    place: Any = user.args[1]
    return bool(place == 0) or not user.users


def _window(node: fx.Node) -> tuple[list[int], list[int]] | None:
    """Extents and strides of the windows; None for those that reach over the edge, have gaps or are large."""
    arguments: tuple[Any, ...] = (*node.args, *_DEFAULTS[len(node.args) :])
    x, kernel, stride, padding, dilation, ceil_mode = arguments
    if tensors_of(x)[0].dtype is not torch.float32 or ceil_mode or any(_pair(padding)):
        return None
    if any(gap != 1 for gap in _pair(dilation)) or max(_pair(kernel)) > _LARGEST_WINDOW:
        return None
    return _pair(kernel), _pair(stride or kernel)


_DEFAULTS: tuple[Any, ...] = (None, None, [], 0, 1, False)


def _pair(value: Any) -> list[int]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values * 2 if len(values) == 1 else values


def _rewrite(graph: fx.Graph, node: fx.Node, kernel: list[int], stride: list[int]) -> None:
    extents = tensors_of(node)[0].shape[-2:]
    with graph.inserting_before(node):
        inside = InGraph(graph, node)
        value: fx.Node = node.args[0]  # type: ignore[assignment]
        rank = tensors_of(value)[0].dim()
        for dimension, window, step, extent in zip(
            (rank - 2, rank - 1), kernel, stride, extents, strict=True
        ):
            last = step * (int(extent) - 1) + 1
            slices = [
                inside.call(_ATEN.slice.Tensor, value, dimension, first, first + last, step)
                for first in range(window)
            ]
            value = slices[0]
            for other in slices[1:]:
                value = inside.call(_ATEN.maximum.default, value, other)
    for user in list(node.users):
        if user.users:
            user.replace_all_uses_with(value)
        graph.erase_node(user)
    graph.erase_node(node)
