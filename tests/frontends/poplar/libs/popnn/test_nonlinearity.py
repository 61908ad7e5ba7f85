"""Non-linearities and their gradients agree with torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.frontends.poplar.libs.bench import Bench, normal

from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.popnn import nonlinearity
from tremula.frontends.poplar.libs.popnn.nonlinearity import SOFTMAX_SCALING, NonLinearityType
from tremula.frontends.poplar.types import FLOAT

BY_TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "SIGMOID": torch.sigmoid,
    "HARD_SIGMOID": lambda x: torch.clamp(0.2 * x + 0.5, 0, 1),
    "RELU": torch.relu,
    "TANH": torch.tanh,
    "GELU": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "GELU_ERF": torch.nn.functional.gelu,
    "SWISH": torch.nn.functional.silu,
    "SOFTMAX": lambda x: torch.softmax(x, -1),
    "SOFTMAX_STABLE": lambda x: torch.softmax(x, -1),
    "SOFTMAX_SCALED": lambda x: torch.softmax(x, -1) * SOFTMAX_SCALING,
}
OF_INPUTS = ("GELU", "GELU_ERF", "SWISH")


@pytest.mark.parametrize("kind", list(NonLinearityType))
@pytest.mark.parametrize("in_place", [True, False])
def test_values_agree_with_torch(kind: NonLinearityType, in_place: bool) -> None:
    values = 3 * normal(4, 7)
    bench = Bench()
    source = bench.tensor(values)
    if in_place:
        nonlinearity.apply(kind, source, source, bench.prog, "")
        out = source
    else:
        out = nonlinearity.applied(bench.graph, kind, source, bench.prog, "")
    expected = BY_TORCH[kind.name](torch.from_numpy(values)).numpy()
    np.testing.assert_allclose(bench.run(out)[0], expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in NonLinearityType if kind.name != "SOFTMAX_SCALED"])
def test_gradients_agree_with_torch(kind: NonLinearityType) -> None:
    values = torch.from_numpy(normal(4, 7)).requires_grad_()
    outer = normal(4, 7, seed=1)
    result = BY_TORCH[kind.name](values)
    result.backward(torch.from_numpy(outer))
    bench = Bench()
    known = values if kind.name in OF_INPUTS else result
    found = nonlinearity.gradient(
        bench.graph, kind, bench.tensor(known.detach().numpy()), bench.tensor(outer), bench.prog, ""
    )
    assert values.grad is not None
    np.testing.assert_allclose(bench.run(found)[0], values.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_only_the_stable_softmax_bears_large_values() -> None:
    values = np.array([[1000.0, 1000.0]], np.float32)
    found = []
    for kind in (NonLinearityType.SOFTMAX, NonLinearityType.SOFTMAX_STABLE):
        bench = Bench()
        found.append(
            bench.run(nonlinearity.applied(bench.graph, kind, bench.tensor(values), bench.prog, ""))[0]
        )
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], 0.5)


def test_the_logarithm_of_a_softmax_is_that_of_torch() -> None:
    values = 30 * normal(3, 5)
    bench = Bench()
    source = bench.tensor(values)
    out = like(bench.graph, source, FLOAT)
    nonlinearity.log_softmax(source, out, bench.prog, "")
    expected = torch.log_softmax(torch.from_numpy(values), -1).numpy()
    np.testing.assert_allclose(bench.run(out)[0], expected, rtol=1e-5, atol=1e-5)
