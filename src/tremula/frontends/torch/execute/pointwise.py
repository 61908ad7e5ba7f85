"""Convolutions of one image with windows of one element are matrix products. With one thread torch gives them to MKL;
where that is the slower library they become products of the graph, backward too.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.execute.products import prefers_onednn
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
#: padding, dilation, transposed, padding of the output, groups, after a stride of one
_PLAIN = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)


def pick_pointwise(graph: fx.Graph) -> None:
    """Rewrite such convolutions of `graph` as products, where oneDNN computes these faster."""
    if not prefers_onednn() or torch.get_num_threads() > 1:
        return
    for node in list(graph.nodes):
        if node.target is _ATEN.convolution.default:
            image, weight, bias, *rest = node.args
            if bias is None and tuple(rest) == _PLAIN and _fits(image, weight):
                _forward(graph, node, image, weight)
        elif node.target is _ATEN.convolution_backward.default:
            gradient, image, weight, _, *rest, wanted = node.args
            if not wanted[2] and tuple(rest) == _PLAIN and _fits(gradient, image, weight):
                _backward(graph, node, gradient, image, weight)


def _fits(*operands: fx.Node) -> bool:
    """Images of one sample, and last a weight of windows of one element."""
    *images, weight = (tensors_of(operand)[0] for operand in operands)
    return (
        tuple(weight.shape[2:]) == (1, 1)
        and all(image.dim() == 4 and image.shape[0] == 1 for image in images)
        and all(each.dtype is torch.float32 and each.is_contiguous() for each in (*images, weight))
    )


def _matrix(inside: InGraph, node: fx.Node, rows: int) -> fx.Node:
    return inside.call(_ATEN.reshape.default, node, [rows, -1])


def _shape(node: fx.Node) -> list[int]:
    return list(tensors_of(node)[0].shape)


def _forward(graph: fx.Graph, node: fx.Node, image: fx.Node, weight: fx.Node) -> None:
    with graph.inserting_before(node):
        inside = InGraph(graph, node)
        outputs, inputs = _shape(weight)[:2]
        product = inside.call(
            _ATEN.mm.default, _matrix(inside, weight, outputs), _matrix(inside, image, inputs)
        )
        result = inside.call(_ATEN.reshape.default, product, _shape(node))
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _backward(graph: fx.Graph, node: fx.Node, gradient: fx.Node, image: fx.Node, weight: fx.Node) -> None:
    parts: dict[Any, fx.Node] = {}
    with graph.inserting_before(node):
        inside = InGraph(graph, node)
        outputs, inputs = _shape(weight)[:2]
        back = _matrix(inside, gradient, outputs)
        used = {user.args[1] for user in node.users}
        if 0 in used:
            transposed = inside.call(_ATEN.t.default, _matrix(inside, weight, outputs))
            product = inside.call(_ATEN.mm.default, transposed, back)
            parts[0] = inside.call(_ATEN.reshape.default, product, _shape(image))
        if 1 in used:
            transposed = inside.call(_ATEN.t.default, _matrix(inside, image, inputs))
            product = inside.call(_ATEN.mm.default, back, transposed)
            parts[1] = inside.call(_ATEN.reshape.default, product, _shape(weight))
    for user in list(node.users):
        if user.target is operator.getitem and user.args[1] in parts:
            user.replace_all_uses_with(parts[user.args[1]])
            graph.erase_node(user)
    if not node.users:
        graph.erase_node(node)
