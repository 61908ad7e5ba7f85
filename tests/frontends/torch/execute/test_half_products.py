"""Half-precision products by way of float32: the rounding of the device, at the host's speed."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import half_products
from tremula.frontends.torch.execute.half_products import widen


@pytest.fixture
def float_is_faster(monkeypatch):
    monkeypatch.setattr(half_products, "_float_is_faster", lambda: True)


def _traced(function, *arguments):
    module = make_fx(function, tracing_mode="fake")(*arguments)
    widen(module.graph)
    module.recompile()
    return module


@pytest.mark.usefixtures("float_is_faster")
def test_a_product_is_rounded_once_after_all_additions():
    left, right = torch.randn(33, 257).half(), torch.randn(257, 9).half()
    module = _traced(torch.mm, left, right)
    assert torch.equal(module(left, right), (left.float() @ right.float()).half())
    products = [node for node in module.graph.nodes if node.target is torch.ops.aten.mm.default]
    assert [node.meta["val"].dtype for node in products] == [torch.float32]


@pytest.mark.usefixtures("float_is_faster")
def test_several_results_are_rounded_each():
    x, w = torch.randn(2, 3, 8, 8).half(), torch.randn(4, 3, 3, 3).half()

    def gradients(g, x, w):
        backward = torch.ops.aten.convolution_backward.default
        return backward(g, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])

    g = torch.randn(2, 4, 8, 8).half()
    found = _traced(gradients, g, x, w)(g, x, w)
    for actual, expected in zip(found, gradients(g.float(), x.float(), w.float()), strict=True):
        assert actual.dtype is torch.float16
        torch.testing.assert_close(actual, expected.half(), rtol=2e-3, atol=2e-3)


@pytest.mark.usefixtures("float_is_faster")
def test_float_products_are_left_alone():
    module = _traced(torch.mm, torch.randn(3, 3), torch.randn(3, 3))
    assert not any(node.target is torch.ops.aten._to_copy.default for node in module.graph.nodes)


def test_hosts_that_are_fast_in_half_compute_in_half(monkeypatch):
    monkeypatch.setattr(half_products, "_float_is_faster", lambda: False)
    half = torch.randn(3, 3).half()
    module = _traced(torch.mm, half, half)
    assert not any(node.target is torch.ops.aten._to_copy.default for node in module.graph.nodes)
