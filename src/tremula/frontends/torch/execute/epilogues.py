"""What follows a product or a convolution of oneDNN and is computed by the same kernel: a bias, a sum with another
tensor, an activation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_VIEWS = frozenset([_ATEN.view.default, _ATEN._unsafe_view.default, _ATEN.reshape.default])
#: ops of one operand -> what oneDNN calls them
_ACTIVATIONS = {
    _ATEN.relu.default: "relu",
    _ATEN.sigmoid.default: "sigmoid",
    _ATEN.tanh.default: "tanh",
    _ATEN.silu.default: "swish",
}
#: where the bias and the activation are among the arguments
_BIAS = 2
_PRODUCT_ACTIVATION, _CONVOLUTION_ACTIVATION = 3, 7


def absorb_epilogues(graph: fx.Graph) -> None:
    """Move what follows oneDNN's products and convolutions into them, where nobody else takes their results."""
    library = torch.ops.mkldnn
    order = {node: place for place, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is library._linear_pointwise.default:
            _take_bias(graph, node, order)
            _take_activation(graph, node, _PRODUCT_ACTIVATION)
        elif node.target is library._convolution_pointwise.default:
            _take_activation(graph, node, _CONVOLUTION_ACTIVATION)
            if node.args[_CONVOLUTION_ACTIVATION] == "none":
                _take_sum(graph, node, order)


def _take_bias(graph: fx.Graph, product: fx.Node, order: dict[fx.Node, int]) -> None:
    """A vector that is added to each row, also to a view of the product that keeps its rows."""
    if product.args[_BIAS] is not None:
        return
    columns = tensors_of(product)[0].shape[-1]
    last, added = _follower(product, columns)
    if (
        added is None
        or added.target is not _ATEN.add.Tensor
        or added.kwargs
        or added.args[0] is added.args[1]
    ):
        return
    bias = added.args[1] if added.args[0] is last else added.args[0]
    if not isinstance(bias, fx.Node) or order[bias] > order[product]:
        return
    (vector,) = tensors_of(bias)
    if tuple(vector.shape) != (columns,) or vector.dtype is not torch.float32:
        return
    product.update_arg(_BIAS, bias)
    _replace(graph, added, last)


def _take_activation(graph: fx.Graph, node: fx.Node, place: int) -> None:
    last, activation = _follower(node, tensors_of(node)[0].shape[-1])
    if activation is None:
        return
    word, algorithm = _ACTIVATIONS.get(activation.target), ""  # type: ignore[call-overload]
    if activation.target is _ATEN.gelu.default:
        word, algorithm = "gelu", activation.kwargs.get("approximate", "none")  # type: ignore[assignment]
    if word is None:
        return
    node.args = (*node.args[:place], word, [], algorithm)
    _replace(graph, activation, last)


def _take_sum(graph: fx.Graph, convolution: fx.Node, order: dict[fx.Node, int]) -> None:
    """A tensor of the same shape that is there before the convolution, and a ReLU of the sum."""
    added = _only_user(convolution)
    if added is None or added.target is not _ATEN.add.Tensor or added.kwargs or len(set(added.args)) != 2:
        return
    other = added.args[1] if added.args[0] is convolution else added.args[0]
    if not isinstance(other, fx.Node):
        return
    ours, theirs = tensors_of(convolution)[0], tensors_of(other)[0]
    if ours.shape != theirs.shape or ours.dtype is not theirs.dtype:
        return
    activation = _only_user(added)
    ends = activation is not None and activation.target is _ATEN.relu.default
    x, *rest = convolution.args[:_CONVOLUTION_ACTIVATION]
    with graph.inserting_before(
        added
    ):  # here the other tensor is there, even if it is made after the convolution
        fused = graph.call_function(
            torch.ops.mkldnn._convolution_pointwise.binary,
            (x, other, *rest, "add", None, "relu" if ends else None, [], ""),
        )
    fused.meta = dict(convolution.meta)
    _replace(graph, activation if ends and activation is not None else added, fused)
    for gone in (added, convolution):
        if not gone.users:
            graph.erase_node(gone)


def _follower(node: fx.Node, columns: int) -> tuple[fx.Node, fx.Node | None]:
    """The only op that takes a node's result, or a view of it that keeps its rows; and that view."""
    last = node
    while True:
        user = _only_user(last)
        if user is None or user.target not in _VIEWS or tensors_of(user)[0].shape[-1:] != (columns,):
            return last, user
        last = user


def _only_user(node: fx.Node) -> fx.Node | None:
    users: list[Any] = list(node.users)
    return users[0] if len(users) == 1 and users[0].op == "call_function" else None


def _replace(graph: fx.Graph, node: fx.Node, by: fx.Node) -> None:
    node.replace_all_uses_with(by)
    graph.erase_node(node)
