"""Eight-bit floating point: the two formats of the device, bit by bit, on stock TensorFlow ops.

A code has one sign bit, then exponent and fraction: 4 and 3 bits with a bias of 8 (F143), or 5 and 2 with a bias of 16
(F152). There are denormals, one zero, and no infinity; the code of a negative zero, 0x80, is the only NaN (Noune et
al., 8-bit numerical formats for deep neural networks, 2022). A tensor carries one metadata byte: bit 7 selects F143,
the low six bits are a signed scale `s`, and a code `c` stands for `c * 2^s`.

Conversion rounds to nearest, ties to even. What is too large becomes the largest value of the format, or NaN if
`floating_point_behaviour.nanoo` is set when the graph is built. NaN and infinity become NaN.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.config import active

#: the code that stands for no number
NAN_CODE = 0x80
_F143_BIT = 128
_HALF_MAX = 65504.0


class Format(IntEnum):
    """How the seven bits below the sign are split.

    Attributes:
        F143: 4 bits of exponent, 3 of fraction.
        F152: 5 bits of exponent, 2 of fraction.
    """

    F143 = 0
    F152 = 1


def create_metadata(fmt: Format, scale: int = 0) -> int:
    """The metadata byte of a format and a power of two, which is kept modulo 64 in -32 ... 31."""
    return (_F143_BIT if fmt == Format.F143 else 0) | (scale & 0x3F)


def encode(values: Any, metadata: Any) -> Any:
    """Codes (uint8) of numbers.

    Args:
        values: floating point tensor whose magnitudes lie in the range of half precision.
        metadata: scalar uint8 tensor.
    """
    fraction, bias, scale = _layout(metadata)
    scaled = tf.cast(values, tf.float32) * _power_of_two(-scale)
    magnitude = tf.abs(scaled)
    exponent = tf.bitwise.right_shift(tf.bitcast(magnitude, tf.int32), 23) - 127
    exponent = tf.maximum(exponent, 1 - bias)
    # Codes below the sign count the values of a format in steps: a carry out of the fraction raises the exponent.
    steps = tf.cast(tf.round(_finite(magnitude) * _power_of_two(fraction - exponent)), tf.int32)
    code = tf.bitwise.left_shift(exponent + bias - 1, fraction) + steps
    largest = tf.constant(127)
    if active.option("floating_point_behaviour.nanoo", False):
        overflows = tf.logical_and(code > largest, tf.math.is_finite(scaled))
    else:
        overflows = tf.zeros_like(code, tf.bool)
    code = tf.minimum(code, largest)
    code = tf.where(tf.logical_and(scaled < 0, code > 0), code + 128, code)
    code = tf.where(tf.logical_or(overflows, tf.logical_not(tf.math.is_finite(scaled))), NAN_CODE, code)
    return tf.cast(code, tf.uint8)


def decode(codes: Any, metadata: Any) -> Any:
    """The numbers (float32, exact) that codes stand for."""
    fraction, bias, scale = _layout(metadata)
    code = tf.cast(codes, tf.int32)
    magnitude = tf.bitwise.bitwise_and(code, 127)
    field = tf.bitwise.right_shift(magnitude, fraction)
    steps = magnitude - tf.bitwise.left_shift(tf.maximum(field - 1, 0), fraction)
    value = (
        tf.cast(steps, tf.float32)
        * _power_of_two(tf.maximum(field, 1) - bias - fraction)
        * _power_of_two(scale)
    )
    value = tf.where(code > NAN_CODE, -value, value)
    return tf.where(tf.equal(code, NAN_CODE), float("nan"), value)


def to_half(values: Any) -> Any:
    """Half precision as the device converts: too large numbers become the largest one, or NaN with `nanoo`.

    Integers and float32 numbers that half precision cannot hold are treated alike; infinity stays infinity.
    """
    if values.dtype == tf.float16:
        return values
    values = tf.cast(values, tf.float32)
    clipped = tf.clip_by_value(values, -_HALF_MAX, _HALF_MAX)
    if active.option("floating_point_behaviour.nanoo", False):
        clipped = tf.where(tf.equal(clipped, values), clipped, float("nan"))
    return tf.cast(tf.where(tf.math.is_finite(values), clipped, values), tf.float16)


def _layout(metadata: Any) -> tuple[Any, Any, Any]:
    """Bits of fraction, bias, scale: int32 scalars."""
    byte = tf.cast(metadata, tf.int32)
    f143 = byte >= _F143_BIT
    low = tf.bitwise.bitwise_and(byte, 0x3F)
    scale = tf.where(low >= 32, low - 64, low)
    return tf.where(f143, 3, 2), tf.where(f143, 8, 16), scale


def _power_of_two(exponent: Any) -> Any:
    return tf.bitcast(tf.bitwise.left_shift(exponent + 127, 23), tf.float32)


def _finite(values: Any) -> Any:
    return tf.where(tf.math.is_finite(values), values, tf.zeros_like(values))
