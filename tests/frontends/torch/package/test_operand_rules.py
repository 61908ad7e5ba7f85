"""What a program from a file has to keep where kernels check nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.package.operand_rules import broken_rule

aten = torch.ops.aten


def _backward(function: Callable[..., torch.Tensor], *arguments: torch.Tensor) -> fx.Graph:
    """The graph of a gradient, captured on fake tensors."""

    def gradient(first: torch.Tensor, *rest: torch.Tensor) -> Any:
        first.requires_grad_()
        return torch.autograd.grad(function(first, *rest).sum(), first)

    graph: fx.Graph = make_fx(gradient, tracing_mode="fake")(*arguments).graph
    return graph


def _call(graph: fx.Graph, target: Any) -> fx.Node:
    return next(node for node in graph.nodes if node.target is target)


def _placeholder(graph: fx.Graph, like: fx.Node, *shape: int) -> fx.Node:
    """Another input, with a shape and the dtype of a node."""
    with graph.inserting_before(next(iter(graph.nodes))):
        node = graph.placeholder(f"planted_{len(graph.nodes)}")
    fake = like.meta["val"]
    with fake.fake_mode:
        node.meta["val"] = torch.empty(shape or fake.shape, dtype=fake.dtype)
    return node


IMAGE = torch.randn(2, 16, 8, 8)
CHANNELS = torch.ones(16)
CLASSES = torch.arange(16)

#: what a gradient is taken of, its kernel, and the operand that the kernel trusts
SHAPES = [
    (lambda x: F.layer_norm(x, (16,)), [torch.randn(4, 16)], aten.native_layer_norm_backward.default, 3),
    (lambda x: F.group_norm(x, 4), [IMAGE], aten.native_group_norm_backward.default, 2),
    (
        lambda x: F.batch_norm(x, None, None, training=True),
        [IMAGE],
        aten.native_batch_norm_backward.default,
        5,
    ),
    (lambda x: F.log_softmax(x, 1), [torch.randn(4, 16)], aten._log_softmax_backward_data.default, 1),
    (lambda x: F.softmax(x, 1), [torch.randn(4, 16)], aten._softmax_backward_data.default, 1),
]


@pytest.mark.parametrize(("function", "arguments", "target", "operand"), SHAPES)
def test_saved_values_have_the_shapes_of_the_forward_pass(
    function: Any, arguments: list[torch.Tensor], target: Any, operand: int
) -> None:
    graph = _backward(function, *arguments)
    assert broken_rule(graph) is None
    call = _call(graph, target)
    call.update_arg(operand, _placeholder(graph, call.args[operand], 1))
    assert "saved values are not those of its forward pass" in str(broken_rule(graph))


def test_positions_of_maxima_come_from_the_forward_pass() -> None:
    graph = _backward(lambda x: F.max_pool2d(x, 2), IMAGE)
    assert broken_rule(graph) is None
    call = _call(graph, aten.max_pool2d_with_indices_backward.default)
    call.update_arg(7, _placeholder(graph, call.args[7]))
    assert "saved values" in str(broken_rule(graph))


def test_positions_of_maxima_are_not_changed_on_the_way() -> None:
    graph = _backward(lambda x: F.max_pool2d(x, 2), IMAGE)
    call = _call(graph, aten.max_pool2d_with_indices_backward.default)
    with graph.inserting_before(call):
        written = graph.call_function(aten.add_.Scalar, (call.args[7], 10**8))
    written.meta["val"] = call.args[7].meta["val"]
    assert "changes what max_pool2d_with_indices_backward takes as saved" in str(broken_rule(graph))


def test_the_classes_of_a_loss_are_those_that_its_forward_pass_has_compared() -> None:
    graph = _backward(F.nll_loss, torch.randn(16, 16), CLASSES)
    assert broken_rule(graph) is None
    call = _call(graph, aten.nll_loss_backward.default)
    call.update_arg(2, _placeholder(graph, call.args[2]))
    assert "saved values" in str(broken_rule(graph))


def test_weights_of_a_normalisation_fit_its_input() -> None:
    graph: fx.Graph = make_fx(lambda x, w, m: F.batch_norm(x, m, m, w), tracing_mode="fake")(
        IMAGE, CHANNELS, CHANNELS
    ).graph
    assert broken_rule(graph) is None
    call = next(node for node in graph.nodes if "batch_norm" in str(node.target))
    call.update_arg(1, _placeholder(graph, call.args[1], 4))
    assert "weights do not fit its input" in str(broken_rule(graph))


def test_a_gradient_that_counts_its_indices_is_refused() -> None:
    graph = _backward(lambda w, i: F.embedding(i, w, scale_grad_by_freq=True), torch.randn(16, 4), CLASSES)
    assert "embedding_dense_backward" in str(broken_rule(graph))


#: gradients of layers whose kernels take the shape of the gradient on trust
GRADIENTS = [
    (lambda x: F.pad(x, (1, 2), mode="reflect"), torch.randn(2, 16, 16)),
    (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), IMAGE),
    (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    (lambda x: F.avg_pool2d(x, 2), IMAGE),
    (lambda x: F.adaptive_avg_pool2d(x, 4), IMAGE),
    (lambda x: F.conv2d(x, torch.ones(4, 16, 3, 3)), IMAGE),
    (lambda x: x.unfold(0, 2, 2), torch.randn(16, 16)),
    (lambda x: torch.cdist(x, x.detach(), 1.0), torch.randn(16, 16)),
    (lambda x: F.glu(x, 1), torch.randn(16, 16)),
]


@pytest.mark.parametrize(("function", "argument"), GRADIENTS)
def test_a_gradient_has_the_shape_of_the_result(function: Any, argument: torch.Tensor) -> None:
    graph = _backward(function, argument)
    assert broken_rule(graph) is None
    call = next(node for node in graph.nodes if "backward" in str(node.target))
    call.update_arg(0, _placeholder(graph, call.args[0], 1, 2, 3))
    assert "saved values" in str(broken_rule(graph))


def test_attention_takes_queries_keys_and_values_that_fit() -> None:
    query = torch.randn(1, 2, 16, 16)
    graph = _backward(F.scaled_dot_product_attention, query, query, query)
    assert broken_rule(graph) is None
    call = next(node for node in graph.nodes if "flash_attention_for_cpu" in str(node.target))
    call.update_arg(2, _placeholder(graph, call.args[2], 1, 2, 8, 16))
    assert "do not fit" in str(broken_rule(graph))
