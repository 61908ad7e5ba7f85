"""Convolutions of one image with windows of one element become products, and give what they gave."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import pointwise


@pytest.fixture(autouse=True)
def products_are_faster(monkeypatch):
    monkeypatch.setattr(pointwise, "prefers_onednn", lambda: True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)


def _rewritten(function, *operands):
    module = make_fx(function, tracing_mode="fake")(*operands)
    pointwise.pick_pointwise(module.graph)
    module.graph.eliminate_dead_code()
    module.graph.lint()
    module.recompile()
    return module


def _left(module):
    return [node for node in module.graph.nodes if "convolution" in str(node.target)]


def _gradients(image, weight, of=(0, 1), **options):
    operands = [image.detach().requires_grad_(0 in of), weight.detach().requires_grad_(1 in of)]
    result = torch.nn.functional.conv2d(*operands, **options)
    return [result.detach(), *torch.autograd.grad((result**2).sum(), [operands[place] for place in of])]


@pytest.mark.parametrize("of", [(0, 1), (0,), (1,)], ids=["both", "image", "weight"])
def test_products_are_the_same_forward_and_backward(of):
    operands = torch.randn(1, 6, 5, 7), torch.randn(4, 6, 1, 1)
    module = _rewritten(lambda *given: _gradients(*given, of), *operands)
    assert not _left(module)
    torch.testing.assert_close(module(*operands), _gradients(*operands, of), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("image", "weight", "options"),
    [
        ((2, 6, 5, 7), (4, 6, 1, 1), {}),
        ((1, 6, 5, 7), (4, 6, 3, 3), {}),
        ((1, 6, 5, 7), (4, 6, 1, 1), {"stride": 2}),
        ((1, 6, 5, 7), (4, 6, 1, 1), {"padding": 1}),
        ((1, 6, 5, 7), (4, 3, 1, 1), {"groups": 2}),
    ],
    ids=["two images", "windows", "stride", "padding", "groups"],
)
def test_other_convolutions_stay(image, weight, options):
    operands = torch.randn(image), torch.randn(weight)
    module = _rewritten(lambda *given: _gradients(*given, **options), *operands)
    assert len(_left(module)) == 2
    torch.testing.assert_close(module(*operands), _gradients(*operands, **options))


def test_images_in_another_order_stay():
    image = torch.randn(1, 6, 5, 7).to(memory_format=torch.channels_last)
    module = _rewritten(lambda *given: _gradients(*given), image, torch.randn(4, 6, 1, 1))
    assert _left(module)


def test_a_bias_and_its_gradient_stay():
    def both(image, weight, bias):
        given = [each.detach().requires_grad_() for each in (image, weight, bias)]
        return torch.autograd.grad((torch.nn.functional.conv2d(*given) ** 2).sum(), given)

    operands = torch.randn(1, 6, 5, 7), torch.randn(4, 6, 1, 1), torch.randn(4)
    module = _rewritten(both, *operands)
    assert _left(module)
    torch.testing.assert_close(module(*operands), both(*operands))
