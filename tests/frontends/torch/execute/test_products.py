"""Large products go to oneDNN where that is faster, and give what they gave."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import products

pytestmark = pytest.mark.skipif(not torch._C._has_mkldnn, reason="this torch has no oneDNN")

_ROWS, _INNER, _COLUMNS = 96, 160, 144


@pytest.fixture(autouse=True)
def onednn_is_faster(monkeypatch):
    monkeypatch.setattr(products, "prefers_onednn", lambda: True)


def _rewritten(function, *operands):
    module = make_fx(function, tracing_mode="fake")(*operands)
    products.pick_products(module.graph)
    module.recompile()
    return module


def _calls(module):
    return sum(node.target is torch.ops.mkldnn._linear_pointwise.default for node in module.graph.nodes)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, b: x @ w.t(),
        lambda x, w, b: x @ w.t().contiguous(),
        lambda x, w, b: torch.addmm(b, x, w.t()),
        lambda x, w, b: torch.nn.functional.linear(x, w, b).t() @ x,
        lambda x, w, b: torch.nn.functional.linear(x.view(8, 12, _INNER), w, b),
    ],
    ids=["transposed", "plain", "bias", "gradient of a weight", "three dimensions"],
)
def test_products_are_the_same(function):
    operands = torch.randn(_ROWS, _INNER), torch.randn(_COLUMNS, _INNER), torch.randn(_COLUMNS)
    module = _rewritten(function, *operands)
    assert _calls(module)
    torch.testing.assert_close(module(*operands), function(*operands), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("function", "shapes", "dtype"),
    [
        (lambda x, w, b: x @ w, ((8, 8), (8, 8), (8,)), torch.float32),
        (lambda x, w, b: x @ w, ((1, 2048), (2048, 2048), (1,)), torch.float32),
        (lambda x, w, b: x @ w, ((256, 256), (256, 256), (1,)), torch.float64),
        (lambda x, w, b: torch.addmm(b, x, w, beta=2), ((256, 256), (256, 256), (256,)), torch.float32),
        (lambda x, w, b: torch.addmm(b, x, w), ((256, 256), (256, 256), (256, 1)), torch.float32),
    ],
    ids=["small", "one row", "float64", "scaled bias", "a bias for each row"],
)
def test_other_products_stay(function, shapes, dtype):
    operands = [torch.randn(shape, dtype=dtype) for shape in shapes]
    module = _rewritten(function, *operands)
    assert not _calls(module)
    torch.testing.assert_close(module(*operands), function(*operands))


def test_a_product_that_is_called_goes_to_onednn_as_well(monkeypatch):
    called = []
    library = torch.ops.mkldnn._linear_pointwise

    class Watched:
        _linear_pointwise = staticmethod(lambda *operands: called.append(1) or library(*operands))

    x, w = torch.randn(_ROWS, _INNER), torch.randn(_COLUMNS, _INNER)
    vector, half = torch.randn(_INNER), torch.randn(_INNER, _COLUMNS).half()
    others = [(x, vector), (x[:2], w.t()), (x[None], w.t()), (x.half(), half)]
    expected = [left @ right for left, right in [(x, w.t()), (w, x.t()), *others]]
    monkeypatch.setattr(torch.ops, "mkldnn", Watched)
    for number, (left, right) in enumerate([(x, w.t()), (w, x.t()), *others]):
        torch.testing.assert_close(products.quick_matmul(left, right), expected[number], rtol=1e-4, atol=1e-4)
    assert len(called) == 2
    trained = w.clone().requires_grad_()
    products.quick_matmul(x, trained.t()).sum().backward()
    assert trained.grad is not None
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        products.quick_matmul(x, w)
