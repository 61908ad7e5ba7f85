"""Gradients of a convolution as convolutions of their own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.lowering.convolutions import Geometry, bias_gradient


@st.composite
def geometries(draw):
    dims = draw(st.integers(1, 3))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    kernel, stride, dilation = each(1, 4), each(1, 3), each(1, 2)
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(dims))
    x = tuple((k - 1) * d + 1 + draw(st.integers(0, 6)) for k, d in zip(kernel, dilation, strict=True))
    y = tuple(
        (n + before + after - ((k - 1) * d + 1)) // s + 1
        for n, (before, after), k, d, s in zip(x, padding, kernel, dilation, stride, strict=True)
    )
    return Geometry(
        draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 8)), draw(st.integers(1, 8)),
        x, y, kernel, stride, padding, dilation, "fp16", "fp32", 0.6,
    )  # fmt: skip


@given(geometries())
def test_each_pass_makes_the_extents_of_what_it_computes(geometry):
    assert geometry.y_from_x("forward").output_field == geometry.y
    assert geometry.x_from_y("input_gradient").output_field == geometry.x
    assert geometry.weight_gradient().output_field == geometry.kernel


@given(geometries())
def test_passes_have_the_channels_of_their_operands(geometry):
    forward, back = geometry.y_from_x("forward"), geometry.x_from_y("input_gradient")
    assert (back.in_channels, back.out_channels) == (forward.out_channels, forward.in_channels)
    weights = geometry.weight_gradient()
    assert (weights.batch, weights.in_channels) == (forward.in_channels, forward.batch)
    assert {each.role for each in (forward, back, weights)} == {
        "forward",
        "input_gradient",
        "weight_gradient",
    }


@pytest.mark.parametrize(
    ("stride", "dilation", "before", "after"), [(1, 1, 0, 0), (2, 1, 1, 1), (1, 2, 2, 1), (3, 2, 0, 2)]
)
def test_the_input_gradient_is_the_transpose_of_the_forward_pass(stride, dilation, before, after):
    """Both as matrices, in one dimension."""
    x, kernel = 11, 3
    y = (x + before + after - ((kernel - 1) * dilation + 1)) // stride + 1
    geometry = Geometry(
        1, 1, 1, 1, (x,), (y,), (kernel,), (stride,), ((before, after),), (dilation,), "fp32", "fp32", 0.6
    )
    taps = np.array([2.0, 3.0, 5.0])
    forward = matrix(geometry.y_from_x("forward"), taps)
    back = matrix(geometry.x_from_y("input_gradient"), taps[::-1])
    np.testing.assert_array_equal(back, forward.T)


def matrix(work, taps):
    """What a convolution in one dimension multiplies its input by."""
    (field,), (result,) = work.field, work.output_field
    (stride,), (spread,), (dilation,) = work.stride, work.input_dilation, work.dilation
    found = np.zeros((result, field))
    for out in range(result):
        for number, tap in enumerate(taps):
            place, rest = divmod(out * stride + number * dilation - work.padding[0][0], spread)
            if not rest and 0 <= place < field:
                found[out, place] += tap
    return found


def test_a_bias_gradient_sums_all_but_the_channels():
    work = bias_gradient(math.prod((4, 16, 8, 8)), 16, "fp16")
    assert (work.outer, work.reduced, work.inner) == (1, 4 * 8 * 8, 16)
