"""Inference with packed weights: the numbers of the plain model, also after its weights have changed."""

import pytest
import torch
from torch import nn

from tremula.frontends.torch.execute import packing, products

pytestmark = pytest.mark.skipif(not torch._C._has_mkldnn, reason="this torch has no oneDNN")


class Residual(nn.Module):
    """Two branches that meet, in the orders that networks have."""

    def __init__(self, activation):
        super().__init__()
        self.first = nn.Conv2d(8, 16, 3, 2, 1)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1, groups=4)
        self.beside = nn.Conv2d(8, 16, 1, 2)
        self.wide = nn.Linear(16, 256)
        self.narrow = nn.Linear(256, 128, bias=False)
        self.shift = nn.Parameter(torch.randn(128))
        self.activation = activation

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        y = self.second(y)
        y = torch.relu(self.beside(x) + y)
        rows = self.wide(y.permute(0, 2, 3, 1)) * 2
        return self.activation(self.narrow(self.activation(rows)) + self.shift), y


@pytest.fixture(autouse=True)
def onednn_is_faster(monkeypatch):
    monkeypatch.setattr(products, "prefers_onednn", lambda: True)
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")


@pytest.fixture
def packings(monkeypatch):
    """How many weights each program has packed."""
    found = []
    plain = packing.packed

    def recorded(*arguments):
        result = plain(*arguments)
        found.append(0 if result is None else len(result.pack.graph.output_node().args[0]) - arguments[1])
        return result

    monkeypatch.setattr("tremula.frontends.torch.execute.executable.packed", recorded)
    return found


@pytest.mark.parametrize(
    "activation",
    [
        torch.relu,
        nn.functional.gelu,
        nn.GELU(approximate="tanh"),
        nn.functional.silu,
        torch.tanh,
        torch.sigmoid,
    ],
    ids=["relu", "gelu", "tanh form of gelu", "silu", "tanh", "sigmoid"],
)
def test_results_are_those_of_the_plain_model(activation, packings, session):
    model = Residual(activation).eval()
    x = torch.randn(2, 8, 64, 64)
    loaded = session(model, x)
    for found, wanted in zip(loaded.run([x])[0], model(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    assert packings == [4], "all but the convolution with one by one taps, which is small"


def test_changed_weights_are_packed_anew(packings, session):
    model = Residual(torch.relu).eval()
    x = torch.randn(2, 8, 64, 64)
    loaded = session(model, x)
    before = loaded.run([x])[0][0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    loaded.executable.write_state({name: value.detach() for name, value in model.named_parameters()})
    after = loaded.run([x])[0][0]
    torch.testing.assert_close(after, model(x)[0], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(before, after)


def test_a_value_that_is_used_twice_is_kept(session):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(256, 256)

        def forward(self, x):
            y = self.layer(x)
            return torch.relu(y), y

    model = Twice().eval()
    x = torch.randn(64, 256)
    loaded = session(model, x)
    for found, wanted in zip(loaded.run([x])[0], model(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_nothing_is_packed_where_memory_is_short(packings, session, monkeypatch):
    monkeypatch.setattr(packing, "free_memory", lambda: 1000)
    model = Residual(torch.relu).eval()
    x = torch.randn(2, 8, 64, 64)
    loaded = session(model, x)
    torch.testing.assert_close(loaded.run([x])[0][0], model(x)[0], rtol=1e-4, atol=1e-4)
    assert packings == [0]
