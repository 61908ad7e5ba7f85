"""Convolutions with all transforms agree with torch, and their gradients with its automatic ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Array, Bench, normal, works_of

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.poplin import conv_indices, conv_params, convolution
from tremula.frontends.poplar.libs.poplin.conv_params import ConvParams, InputTransform, OutputTransform
from tremula.frontends.poplar.types import FLOAT
from tremula.program.work import Convolution

small = st.integers(0, 2)


@st.composite
def transforms(draw: st.DrawFn, rank: int, size: list[int]) -> InputTransform:
    pick = st.tuples(*[small] * rank)
    low, high = draw(pick), draw(pick)
    low = tuple(min(a, n - 1) for a, n in zip(low, size, strict=True))
    high = tuple(min(b, n - 1 - a) for a, b, n in zip(low, high, size, strict=True))
    dilation = tuple(value + 1 for value in draw(pick))
    flip = draw(st.tuples(*[st.booleans()] * rank))
    return InputTransform(low, high, dilation, draw(pick), draw(pick), flip)


@st.composite
def convolutions(draw: st.DrawFn) -> ConvParams:
    rank = draw(st.integers(1, 2))
    field = draw(st.lists(st.integers(3, 6), min_size=rank, max_size=rank))
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    source = draw(transforms(rank, field))
    weights = draw(transforms(rank, kernel))
    grow = tuple(
        max(0, weights.size(d, kernel[d]) - source.size(d, field[d])) + source.padding_upper[d]
        for d in range(rank)
    )
    source = replace(source, padding_upper=grow)
    plain = [source.size(d, field[d]) - weights.size(d, kernel[d]) + 1 for d in range(rank)]
    low = tuple(min(draw(small), n - 1) for n in plain)
    high = tuple(min(draw(small), n - 1 - a) for a, n in zip(low, plain, strict=True))
    stride = tuple(draw(small) + 1 for _ in range(rank))
    output = OutputTransform(
        low, high, stride, tuple(draw(small) for _ in plain), tuple(draw(small) for _ in plain)
    )
    batch, inner, outer, groups = (draw(st.integers(1, 3)) for _ in range(4))
    return ConvParams(
        FLOAT, FLOAT, batch, tuple(field), tuple(kernel), inner, outer, groups, source, weights, output
    )


def _transformed(values: torch.Tensor, transform: InputTransform) -> torch.Tensor:
    rank = len(transform.flip)
    for d in range(rank):
        place = values.ndim - rank + d
        size = values.shape[place]
        kept = values.narrow(
            place,
            transform.truncation_lower[d],
            size - transform.truncation_lower[d] - transform.truncation_upper[d],
        )
        wide = torch.zeros([*kept.shape[:place], transform.size(d, size), *kept.shape[place + 1 :]])
        where = transform.padding_lower[d] + torch.arange(kept.shape[place]) * transform.dilation[d]
        values = wide.index_add(place, where, kept)
        values = values.flip(place) if transform.flip[d] else values
    return values


def by_torch(params: ConvParams, source: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The same convolution, step by step."""
    groups, out, inner = weights.shape[:3]
    kernel = _transformed(weights, params.weights).reshape(groups * out, inner, *params_kernel(params))
    convolve = torch.nn.functional.conv1d if params.rank == 1 else torch.nn.functional.conv2d
    found = convolve(_transformed(source, params.input), kernel, groups=groups)
    for d in range(params.rank):
        low, high = params.output.truncation_lower[d], params.output.truncation_upper[d]
        place = 2 + d
        found = found.narrow(place, low, found.shape[place] - low - high)
        found = found[(slice(None),) * place + (slice(None, None, params.output.stride[d]),)]
    around = [
        value
        for d in reversed(range(params.rank))
        for value in (params.output.padding_lower[d], params.output.padding_upper[d])
    ]
    return torch.nn.functional.pad(found, around)


def params_kernel(params: ConvParams) -> list[int]:
    return [params.weights.size(d, params.kernel[d]) for d in range(params.rank)]


def run(params: ConvParams, source: Array, weights: Array, turn: bool = False) -> Array:
    bench = Bench()
    out = convolution.convolve(
        bench.graph, bench.tensor(source), bench.tensor(weights), params, turn, bench.prog
    )
    return bench.run(out)[0]


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_all_transforms_agree_with_torch(params: ConvParams) -> None:
    source, weights = normal(*params.input_shape), normal(*params.weights_shape, seed=1)
    expected = by_torch(params, torch.from_numpy(source), torch.from_numpy(weights)).numpy()
    assert expected.shape == params.output_shape
    np.testing.assert_allclose(run(params, source, weights), expected, rtol=1e-4, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_gradients_agree_with_torch(params: ConvParams) -> None:
    source = torch.from_numpy(normal(*params.input_shape)).requires_grad_()
    weights = torch.from_numpy(normal(*params.weights_shape, seed=1)).requires_grad_()
    deltas = torch.from_numpy(normal(*params.output_shape, seed=2))
    by_torch(params, source, weights).backward(deltas)
    assert source.grad is not None
    assert weights.grad is not None
    bench = Bench()
    given_source, given_deltas = bench.tensor(source.detach().numpy()), bench.tensor(deltas.numpy())
    found = convolution.weight_deltas(bench.graph, given_deltas, given_source, params, bench.prog, "", None)
    kept = bench.tensor(weights.detach().numpy())
    convolution.update_weights(given_deltas, kept, given_source, params, -0.5, bench.prog, "", None)
    slope, updated = bench.run(found, kept)
    np.testing.assert_allclose(slope, weights.grad, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(updated, weights.detach() - 0.5 * weights.grad, rtol=1e-4, atol=1e-4)
    backward = conv_params.gradient_params(params)
    assert backward.output_shape == params.input_shape
    inner = run(backward, deltas.numpy(), weights.detach().numpy(), turn=True)
    np.testing.assert_allclose(inner, source.grad, rtol=1e-4, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(convolutions())
def test_multiplications_are_those_with_elements(params: ConvParams) -> None:
    """With ones everywhere, the sum of the output counts them."""
    ones = run(params, np.ones(params.input_shape, np.float32), np.ones(params.weights_shape, np.float32))
    assert ones.sum() == conv_indices.multiplications(params)


def plain(rank: int = 2) -> ConvParams:
    none = InputTransform.none(rank)
    return ConvParams(
        FLOAT, FLOAT, 2, (5,) * rank, (3,) * rank, 4, 6, 1, none, none, OutputTransform.none(rank)
    )


def test_the_planner_gets_padding_stride_and_dilation() -> None:
    none = InputTransform.none(2)
    source = replace(none, padding_lower=(1, 2), padding_upper=(1, 0))
    params = replace(
        plain(),
        input=source,
        weights=replace(none, dilation=(2, 1)),
        output=replace(OutputTransform.none(2), stride=(1, 2)),
    )
    bench = Bench()
    convolution.convolve(
        bench.graph,
        bench.tensor(normal(*params.input_shape)),
        bench.tensor(normal(*params.weights_shape)),
        params,
        False,
        bench.prog,
        options={"partialsType": "half"},
    )
    (work,) = works_of(bench.prog)
    assert isinstance(work, Convolution)
    assert (work.padding, work.stride, work.dilation) == (((1, 1), (2, 0)), (1, 2), (2, 1))
    assert work.output_field == params.output_field
    assert work.partials == "fp16"


def test_biases_are_added_and_updated() -> None:
    bench = Bench()
    values, biases, deltas = normal(2, 3, 4, 4), normal(3, seed=1), normal(2, 3, 4, 4, seed=2)
    view, kept = bench.tensor(values), bench.tensor(biases)
    convolution.add_bias(view, kept, bench.prog, "")
    convolution.update_biases(bench.tensor(deltas), kept, -0.1, bench.prog, "", None)
    found, updated = bench.run(view, kept)
    np.testing.assert_allclose(found, values + biases[:, None, None], rtol=1e-5)
    np.testing.assert_allclose(updated, biases - 0.1 * deltas.sum(axis=(0, 2, 3)), rtol=1e-4)


def test_impossible_convolutions_are_errors() -> None:
    with pytest.raises(PoplibsError, match="does not fit"):
        replace(plain(), kernel=(6, 6)).check()
    with pytest.raises(PoplibsError, match="at least 1"):
        replace(plain(), output=replace(OutputTransform.none(2), stride=(0, 1))).check()
    with pytest.raises(PoplibsError, match="2 entries"):
        replace(plain(), kernel=(3,)).check()
