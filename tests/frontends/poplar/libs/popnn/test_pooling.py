"""Pooling and its gradients agree with torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Bench, normal

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popnn import pooling
from tremula.frontends.poplar.libs.popnn.pooling import PoolingType, PoolParams
from tremula.frontends.poplar.types import FLOAT


@st.composite
def poolings(draw: st.DrawFn) -> PoolParams:
    kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    padding = tuple(draw(st.integers(0, size // 2)) for size in kernel)
    field = tuple(draw(st.integers(3, 7)) for _ in kernel)
    stride = tuple(draw(st.integers(1, 3)) for _ in kernel)
    kind = draw(st.sampled_from(PoolingType))
    return PoolParams(kind, field, kernel, stride, padding, padding, draw(st.integers(1, 3)), 2, FLOAT)


def by_torch(params: PoolParams, values: torch.Tensor) -> torch.Tensor:
    extents = (params.kernel, params.stride, params.lower)
    if params.kind is PoolingType.MAX:
        return torch.nn.functional.max_pool2d(values, *extents)
    average = params.kind is PoolingType.AVG
    found = torch.nn.functional.avg_pool2d(values, *extents, count_include_pad=not average)
    return found if average else found * (params.kernel[0] * params.kernel[1])


@settings(max_examples=40, deadline=None)
@given(poolings())
def test_values_and_gradients_agree_with_torch(params: PoolParams) -> None:
    values = torch.from_numpy(normal(*params.input_shape)).requires_grad_()
    expected = by_torch(params, values)
    assert tuple(expected.shape) == params.output_shape
    outer = torch.from_numpy(normal(*params.output_shape, seed=1))
    expected.backward(outer)
    bench = Bench()
    source = bench.tensor(values.detach().numpy())
    pooled = pooling.pool(bench.graph, params, source, bench.prog, "", None)
    slope = pooling.gradient(
        bench.graph, params, source, pooled, bench.tensor(outer.numpy()), False, bench.prog, "", None
    )
    found, inner = bench.run(pooled, slope)
    assert values.grad is not None
    np.testing.assert_allclose(found, expected.detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(inner, values.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("scaled", "share"), [(False, 1.0), (True, 0.25)])
def test_equal_largest_elements_get_all_or_share(scaled: bool, share: float) -> None:
    params = PoolParams(PoolingType.MAX, (2, 2), (2, 2), (2, 2), (0, 0), (0, 0), 1, 1, FLOAT)
    bench = Bench()
    source = bench.tensor(np.ones((1, 1, 2, 2), np.float32))
    pooled = pooling.pool(bench.graph, params, source, bench.prog, "", None)
    outer = bench.tensor(np.ones((1, 1, 1, 1), np.float32))
    slope = pooling.gradient(bench.graph, params, source, pooled, outer, scaled, bench.prog, "", None)
    assert np.unique(bench.run(slope)[0]).tolist() == [share]


def test_negative_padding_cuts_the_field() -> None:
    params = PoolParams(PoolingType.SUM, (5,), (2,), (1,), (-1,), (-1,), 1, 1, FLOAT)
    bench = Bench()
    source = bench.tensor(np.arange(5, dtype=np.float32).reshape(1, 1, 5))
    pooled = pooling.pool(bench.graph, params, source, bench.prog, "", None)
    outer = bench.tensor(np.ones((1, 1, 2), np.float32))
    slope = pooling.gradient(bench.graph, params, None, None, outer, False, bench.prog, "", None)
    found, inner = bench.run(pooled, slope)
    assert found.tolist() == [[[3, 5]]]
    assert inner.tolist() == [[[0, 1, 2, 1, 0]]]


def test_a_kernel_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(PoplibsError, match="does not fit"):
        PoolParams(PoolingType.MAX, (2,), (3,), (1,), (0,), (0,), 1, 1, FLOAT).check()
