"""Norms and their gradients agree with torch's batch norm; triangular functions with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Bench, normal

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.poplin import mesh, norms, triangular
from tremula.frontends.poplar.types import FLOAT


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(2, 5), min_size=2, max_size=4), st.booleans())
def test_a_batch_norm_and_its_gradients_agree_with_torch(shape: list[int], stable: bool) -> None:
    values = torch.from_numpy(normal(*shape)).requires_grad_()
    gamma, beta = (torch.from_numpy(normal(shape[1], seed=n)).requires_grad_() for n in (1, 2))
    deltas = torch.from_numpy(normal(*shape, seed=3))
    expected = torch.nn.functional.batch_norm(values, None, None, gamma, beta, training=True, eps=1e-3)
    expected.backward(deltas)
    bench = Bench()
    graph, prog = bench.graph, bench.prog
    source, outer, scale, shift = (
        bench.tensor(each.detach().numpy()) for each in (values, deltas, gamma, beta)
    )
    mean, deviation = norms.statistics(graph, source, 1e-3, prog, False, stable, FLOAT, "")
    whitened = norms.whiten(graph, source, mean, deviation, prog, "")
    made = norms.normalise(graph, whitened, scale, shift, prog, "")
    gamma_slope, beta_slope = norms.parameter_gradients(graph, whitened, outer, prog, FLOAT, "")
    inner = norms.gradients(graph, outer, scale, prog, "")
    slope = norms.statistics_gradients(graph, whitened, inner, deviation, prog, FLOAT, "")
    found = bench.run(made, gamma_slope, beta_slope, slope)
    for ours, theirs in zip(found, (expected, gamma.grad, beta.grad, values.grad), strict=True):
        assert theirs is not None
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=2e-3, atol=2e-4)


def test_an_unbiased_variance_divides_by_one_less() -> None:
    values = normal(6, 3)
    bench = Bench()
    _, deviation = norms.statistics(
        bench.graph, bench.tensor(values), 0.0, bench.prog, True, False, FLOAT, ""
    )
    np.testing.assert_allclose(bench.run(deviation)[0], 1 / values.std(axis=0, ddof=1), rtol=1e-4)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_triangular_systems_are_solved(lower: bool, unit: bool, left: bool) -> None:
    matrix = normal(2, 4, 4) + 3 * np.eye(4, dtype=np.float32)
    right = normal(2, 4, 4, seed=1)
    bench = Bench()
    given_matrix = bench.tensor(matrix)
    cut = triangular.mask(bench.graph, given_matrix, lower, unit, bench.prog, "")
    found = triangular.solve(
        bench.graph, given_matrix, bench.tensor(right), left, lower, unit, bench.prog, "", {"blockSize": "2"}
    )
    kept, solution = bench.run(cut, found)
    assert np.array_equal(kept, np.tril(kept) if lower else np.triu(kept))
    back = kept @ solution if left else solution @ kept
    np.testing.assert_allclose(back, right, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("lower", [True, False])
def test_a_cholesky_factor_gives_the_matrix_back(lower: bool) -> None:
    root = normal(3, 5, 5)
    matrix = root @ root.swapaxes(1, 2) + np.eye(5, dtype=np.float32)
    half = np.tril(matrix) if lower else np.triu(matrix)
    bench = Bench()
    view = bench.tensor(half)
    out = like(bench.graph, view, FLOAT)
    triangular.cholesky(view, out, lower, bench.prog, "", None)
    (factor,) = bench.run(out)
    both = factor @ factor.swapaxes(1, 2) if lower else factor.swapaxes(1, 2) @ factor
    np.testing.assert_allclose(both, matrix, rtol=1e-3, atol=1e-3)


def test_a_grid_has_the_coordinates_of_its_points() -> None:
    bench = Bench()
    x = mesh.linspace(bench.graph, FLOAT, -1, 1, 3, "")
    y = mesh.linspace(bench.graph, FLOAT, 0, 1, 2, "")
    expected = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(0, 1, 2))
    for ours, theirs in zip(bench.run(*mesh.grid(x, y)), expected, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_statistics_need_channels() -> None:
    bench = Bench()
    with pytest.raises(PoplibsError, match="channels"):
        norms.statistics(bench.graph, bench.tensor(normal(3)), 0.1, bench.prog, False, False, FLOAT, "")
