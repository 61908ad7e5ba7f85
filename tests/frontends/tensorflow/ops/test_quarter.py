"""Eight-bit floating point against tables that are computed in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python.ipu.ops import f8_ops
from tensorflow.python.ipu.ops.f8_ops import Format

_BITS = {Format.F143: (4, 3, 8), Format.F152: (5, 2, 16)}
_FORMATS = list(Format)


def _value(code: int, fmt: Format, scale: int) -> Fraction | None:
    """What a code stands for, from the definition; None: not a number."""
    if code == 0x80:
        return None
    _, fraction_bits, bias = _BITS[fmt]
    field, fraction = (code & 127) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    significand = Fraction(fraction, 1 << fraction_bits) + (1 if field else 0)
    value = significand * Fraction(2) ** (max(field, 1) - bias + scale)
    return -value if code & 128 else value


def _nearest(number: float, fmt: Format, scale: int) -> int:
    """The code of the nearest value; of two, the even code."""
    codes = [code for code in range(256) if code != 0x80]
    exact = Fraction(number)
    return min(codes, key=lambda code: (abs(_value(code, fmt, scale) - exact), code & 1))


@pytest.mark.parametrize("fmt", _FORMATS)
@pytest.mark.parametrize("scale", [-32, -3, 0, 1, 7])
def test_every_code_stands_for_its_value(fmt: Format, scale: int) -> None:
    codes = np.arange(256, dtype=np.uint8)
    tensor = f8_ops.QuarterTensor(codes, f8_ops.create_metadata(fmt, scale))
    found = f8_ops.convert_from_f8(tensor, tf.float32).numpy()
    for code in range(256):
        expected = _value(code, fmt, scale)
        if expected is None:
            assert np.isnan(found[code])
        else:
            assert found[code] == np.float16(np.clip(float(expected), -65504, 65504))


@pytest.mark.parametrize("fmt", _FORMATS)
@pytest.mark.parametrize("scale", [-4, 0, 3])
def test_every_code_survives_a_round_trip(fmt: Format, scale: int) -> None:
    codes = np.array([code for code in range(256) if abs(_value(code, fmt, scale) or 0) <= 65504], np.uint8)
    metadata = f8_ops.create_metadata(fmt, scale)
    values = f8_ops.convert_from_f8(f8_ops.QuarterTensor(codes, metadata), tf.float32)
    exact = np.array([float(_value(code, fmt, scale) or np.nan) for code in codes])
    kept = np.isnan(exact) | (exact == values.numpy()) | (codes == 0)
    np.testing.assert_array_equal(f8_ops.convert_to_f8(values, metadata).data.numpy()[kept], codes[kept])


@given(
    st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    st.sampled_from(_FORMATS),
    st.integers(-32, 31),
)
@settings(deadline=None, max_examples=60)
def test_numbers_become_the_nearest_code(numbers: list[float], fmt: Format, scale: int) -> None:
    metadata = f8_ops.create_metadata(fmt, scale)
    found = f8_ops.convert_to_f8(tf.constant(numbers, tf.float16), metadata).data.numpy()
    assert found.tolist() == [_nearest(float(np.float16(number)), fmt, scale) for number in numbers]


@pytest.mark.parametrize("fmt", _FORMATS)
def test_formats_are_those_of_ml_dtypes(fmt: Format) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = ml_dtypes.float8_e4m3fnuz if fmt == Format.F143 else ml_dtypes.float8_e5m2fnuz
    codes = np.arange(256, dtype=np.uint8)
    found = f8_ops.convert_from_f8(f8_ops.QuarterTensor(codes, f8_ops.create_metadata(fmt)), tf.float32)
    np.testing.assert_array_equal(found.numpy(), codes.view(kind).astype(np.float32))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_has_the_code_of_negative_zero(value: float) -> None:
    assert f8_ops.convert_to_f8(tf.constant([value]), f8_ops.create_metadata(Format.F143)).data[0] == 0x80


def test_too_large_numbers_become_the_largest() -> None:
    metadata = f8_ops.create_metadata(Format.F143)
    stored = f8_ops.convert_to_f8(tf.constant([1e9, -1e9, 241.0]), metadata)
    assert f8_ops.convert_from_f8(stored, tf.float32).numpy().tolist() == [240.0, -240.0, 240.0]


def test_products_have_the_scales_of_both_sides() -> None:
    left = np.array([[1, -2], [0.5, 8]], np.float32)
    right = np.array([[4, 1], [-1, 3]], np.float32)
    product = f8_ops.f8_matmul(
        f8_ops.convert_to_f8(tf.constant(left), f8_ops.create_metadata(Format.F143, 3)),
        f8_ops.convert_to_f8(tf.constant(right), f8_ops.create_metadata(Format.F152, -2)),
    )
    assert product.dtype == tf.float16
    np.testing.assert_array_equal(product, left @ right)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("channels_first", [False, True])
def test_convolutions_are_those_of_their_values(rank: int, channels_first: bool) -> None:
    generator = np.random.default_rng(rank)
    image = generator.integers(-4, 5, (2, *(6, 5, 4)[:rank], 3)).astype(np.float32)
    kernel = generator.integers(-2, 3, (*(2,) * rank, 3, 4)).astype(np.float32)
    stock = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}[rank]
    ours = {1: f8_ops.f8_conv_1d, 2: f8_ops.f8_conv_2d, 3: f8_ops.f8_conv_3d}[rank]
    metadata = f8_ops.create_metadata(Format.F143)
    given_image = np.moveaxis(image, -1, 1) if channels_first else image
    spatial = {1: "W", 2: "HW", 3: "DHW"}[rank]
    found = ours(
        f8_ops.convert_to_f8(tf.constant(given_image), metadata),
        f8_ops.convert_to_f8(tf.constant(kernel), metadata),
        [1, 1, *(2,) * rank] if channels_first else [1, *(2,) * rank, 1],
        "SAME",
        data_format=f"NC{spatial}" if channels_first else f"N{spatial}C",
    ).numpy()
    expected = stock(image, kernel, [1, *(2,) * rank, 1], "SAME").numpy()
    np.testing.assert_array_equal(np.moveaxis(found, 1, -1) if channels_first else found, expected)


def test_a_quarter_tensor_holds_bytes_only() -> None:
    with pytest.raises(TypeError, match="uint8"):
        f8_ops.QuarterTensor(tf.constant([1.0]), 0)


def test_shapes_have_to_be_known() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.uint8)])
    def product(codes: tf.Tensor) -> tf.Tensor:
        return f8_ops.f8_matmul(f8_ops.QuarterTensor(codes, 0), f8_ops.QuarterTensor(codes, 0))

    with pytest.raises(ValueError, match="fully defined"):
        product(tf.zeros([2, 2], tf.uint8))
