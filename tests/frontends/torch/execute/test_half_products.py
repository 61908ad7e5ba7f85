"""Half-precision products by way of float32: the rounding of the device, at the host's speed."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import widening
from tremula.frontends.torch.execute.half_products import PARTIAL_SUMS
from tremula.frontends.torch.execute.precision import Precision, followed

_ATEN = torch.ops.aten


@pytest.fixture(autouse=True)
def float_is_faster(monkeypatch):
    monkeypatch.setattr(widening, "float_is_faster", lambda: True)


def _traced(function, *arguments, partials=False):
    module = make_fx(function, tracing_mode="fake")(*arguments)
    return followed(module, Precision(half_partials=partials))


def _nodes(module, target):
    return [node for node in module.graph.nodes if node.target is target]


def test_a_product_is_rounded_once_after_all_additions():
    left, right = torch.randn(33, 257).half(), torch.randn(257, 9).half()
    module = _traced(torch.mm, left, right)
    assert torch.equal(module(left, right), (left.float() @ right.float()).half())
    assert [node.meta["val"].dtype for node in _nodes(module, _ATEN.mm.default)] == [torch.float32]


def test_several_results_are_rounded_each():
    x, w = torch.randn(2, 3, 8, 8).half(), torch.randn(4, 3, 3, 3).half()

    def gradients(g, x, w):
        backward = _ATEN.convolution_backward.default
        return backward(g, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])

    g = torch.randn(2, 4, 8, 8).half()
    found = _traced(gradients, g, x, w)(g, x, w)
    for actual, expected in zip(found, gradients(g.float(), x.float(), w.float()), strict=True):
        assert actual.dtype is torch.float16
        torch.testing.assert_close(actual, expected.half(), rtol=2e-3, atol=2e-3)


def test_float_products_are_left_alone():
    module = _traced(torch.mm, torch.randn(3, 3), torch.randn(3, 3))
    assert not _nodes(module, _ATEN._to_copy.default)


def test_hosts_that_are_fast_in_half_compute_in_half(monkeypatch):
    monkeypatch.setattr(widening, "float_is_faster", lambda: False)
    half = torch.randn(3, 3).half()
    assert not _nodes(_traced(torch.mm, half, half), _ATEN._to_copy.default)


def test_operands_that_several_products_read_are_widened_once():
    x, w = torch.randn(8, 16).half(), torch.randn(16, 8).half()
    module = _traced(lambda x, w: (x @ w, x.t() @ x), x, w)
    wide = [
        node for node in _nodes(module, _ATEN._to_copy.default) if node.meta["val"].dtype is torch.float32
    ]
    assert len(wide) == 2
    first, second = module(x, w)
    assert torch.equal(first, (x.float() @ w.float()).half())
    assert torch.equal(second, (x.float().t() @ x.float()).half())


def test_operands_that_are_written_meanwhile_are_read_anew():
    def function(x, w):
        before = x @ w
        x.view(-1).mul_(2.0)
        return before, x @ w

    x, w = torch.randn(4, 4).half(), torch.randn(4, 4).half()
    expected = [(x.float() @ w.float()).half(), ((2 * x).float() @ w.float()).half()]
    for actual, wanted in zip(_traced(function, x, w)(x, w), expected, strict=True):
        assert torch.equal(actual, wanted)


@pytest.mark.parametrize("batched", [False, True], ids=["mm", "bmm"])
def test_half_partials_round_the_sum_after_each_piece(batched):
    left, right = torch.randn(8, 600).half(), torch.randn(600, 8).half()
    if batched:
        left, right = left.expand(2, 8, 600).clone(), right.expand(2, 600, 8).clone()
    total = torch.zeros(8, 8)
    for start in range(0, 600, 150):
        total = total.half().float()
        total = total + left.float()[..., start : start + 150] @ right.float()[..., start : start + 150, :]
    found = _traced(torch.matmul, left, right, partials=True)(left, right)
    torch.testing.assert_close(found, total.half(), rtol=2e-3, atol=2e-2)
    assert not torch.equal(found, (left.float() @ right.float()).half())


def test_a_partial_sum_that_overflows_is_infinite_only_with_half_partials():
    left = torch.cat([torch.full((1, 256), 30.0), torch.full((1, 256), -30.0)], 1).half()
    right = torch.full((512, 1), 30.0).half()
    assert _traced(torch.mm, left, right)(left, right).item() == 0
    assert _traced(torch.mm, left, right, partials=True)(left, right).isinf().all()


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_have_partial_sums_of_channels(transposed):
    x = torch.randn(1, 128, 6, 6).half()
    w = torch.randn(*((128, 8) if transposed else (8, 128)), 3, 3).half()
    convolve = torch.conv_transpose2d if transposed else torch.conv2d
    module = _traced(lambda x, w: convolve(x, w, torch.ones(8).half()), x, w, partials=True)
    assert len(_nodes(module, _ATEN.convolution.default)) == PARTIAL_SUMS
    expected = convolve(x.float(), w.float(), torch.ones(8))
    torch.testing.assert_close(module(x, w).float(), expected, rtol=5e-3, atol=0.1)


def test_short_reductions_have_one_piece():
    half = torch.randn(64, 64).half()
    assert len(_nodes(_traced(torch.mm, half, half, partials=True), _ATEN.mm.default)) == 1
