"""Numbers rounded to a floating point format of any width: `GenericFloat`.

A format has bits of mantissa and exponent and a bias. With `en_denorm` there are numbers below the smallest normal one,
else they become zero. With `en_inf` the largest exponent stands for infinity and NaN, else all exponents are numbers
and NaN and infinity become zero. Formats of fewer than 16 bits may be stored as integers: the sign in the top bit,
exponent and mantissa in the lowest bits; the order of the bits in the device's memory is not public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

#: how many numbers describe a format to a cast, as on the device; the first one is enough here
PARAMETERS = 29
ROUND_MODES = ("RZ", "RN", "RA", "RU", "RD", "SR", "SX")


@dataclass(frozen=True)
class Layout:
    """The numbers of a format.

    Attributes:
        man: bits of mantissa.
        exp: bits of exponent.
        bias: of the exponent.
        en_denorm: whether there are denormals.
        en_inf: whether there are infinity and NaN.
    """

    man: int
    exp: int
    bias: int
    en_denorm: bool
    en_inf: bool

    @property
    def packed(self) -> int:
        """All in one number."""
        flags = int(self.en_denorm) | (int(self.en_inf) << 1)
        return self.man | (self.exp << 8) | ((self.bias & 255) << 16) | (flags << 24)

    @classmethod
    def unpacked(cls, number: int) -> Layout:
        """The inverse of `packed`; a bias is in -128 ... 127."""
        bias = (number >> 16) & 255
        flags = number >> 24
        return cls(
            number & 255,
            (number >> 8) & 255,
            bias - 256 if bias > 127 else bias,
            bool(flags & 1),
            bool(flags & 2),
        )

    @property
    def lowest(self) -> int:
        """The exponent of the smallest normal number."""
        return 1 - self.bias

    @property
    def largest(self) -> float:
        """The largest number."""
        top = (1 << self.exp) - 1 - int(self.en_inf) - self.bias
        return float((2 - 2.0**-self.man) * 2.0**top)

    @property
    def parameters(self) -> Any:
        """As a vector that casts take."""
        vector = np.zeros([PARAMETERS], np.int32)
        vector[0] = self.packed
        return vector


def quantise(
    values: Any, layout: Layout, round_mode: str, nan_on_overflow: bool, noise: Callable[[Any], Any]
) -> Any:
    """Numbers of the format, as float32.

    Args:
        values: numbers.
        layout: the format.
        round_mode: one of `ROUND_MODES`.
        nan_on_overflow: whether what is too large becomes NaN instead of the largest number.
        noise: random numbers in [0, 1) of a shape, for stochastic rounding.

    Raises:
        ValueError: the rounding mode is unknown.
    """
    values = tf.cast(values, tf.float32)
    finite = tf.math.is_finite(values)
    clean = tf.where(finite, values, tf.zeros_like(values))
    exponent = tf.bitwise.right_shift(tf.bitcast(tf.abs(clean), tf.int32), 23) - 127
    exponent = tf.maximum(exponent, layout.lowest)
    # two factors, since one may be beyond the range of float32
    shift = tf.cast(layout.man - exponent, tf.float32)
    half = tf.floor(shift / 2)
    steps = clean * tf.pow(2.0, half) * tf.pow(2.0, shift - half)
    rounded = _rounded(steps, round_mode, noise)
    result = rounded * tf.pow(2.0, -half) * tf.pow(2.0, half - shift)
    if not layout.en_denorm:
        smallest = 2.0**layout.lowest
        result = tf.where(tf.abs(result) < smallest, tf.zeros_like(result), result)
    over = tf.logical_or(tf.abs(result) > layout.largest, tf.logical_and(~finite, ~tf.math.is_nan(values)))
    largest = tf.sign(values) * layout.largest
    result = tf.where(over, float("nan") if nan_on_overflow else largest, result)
    special = tf.constant(float("nan") if layout.en_inf else 0.0)
    result = tf.where(tf.math.is_nan(values), special, result)
    return result if layout.en_inf else tf.where(finite, result, tf.zeros_like(result))


def _rounded(steps: Any, round_mode: str, noise: Callable[[Any], Any]) -> Any:
    if round_mode == "RZ":
        return tf.sign(steps) * tf.floor(tf.abs(steps))
    if round_mode == "RN":
        return tf.round(steps)
    if round_mode == "RA":
        return tf.sign(steps) * tf.floor(tf.abs(steps) + 0.5)
    if round_mode == "RU":
        return tf.math.ceil(steps)
    if round_mode == "RD":
        return tf.floor(steps)
    if round_mode in ("SR", "SX"):
        return tf.sign(steps) * tf.floor(tf.abs(steps) + noise(tf.shape(steps)))
    raise ValueError(f"Unknown rounding mode {round_mode!r}; the modes are {', '.join(ROUND_MODES)}.")


def pack(values: Any, layout: Layout, dtype: Any) -> Any:
    """Numbers of the format as integers."""
    dtype = tf.as_dtype(dtype)
    magnitude = tf.abs(tf.where(tf.math.is_nan(values), tf.zeros_like(values), values))
    exponent = tf.bitwise.right_shift(tf.bitcast(magnitude, tf.int32), 23) - 127
    exponent = tf.maximum(exponent, layout.lowest)
    steps = tf.cast(tf.round(magnitude * tf.pow(2.0, tf.cast(layout.man - exponent, tf.float32))), tf.int32)
    code = tf.bitwise.left_shift(exponent + layout.bias - 1, layout.man) + steps
    code = tf.where(tf.equal(steps, 0), 0, code)
    top = 1 << (8 * dtype.size - 1)
    nan = ((1 << layout.exp) - 1 << layout.man) | 1
    code = tf.where(tf.math.is_nan(values), nan, tf.where(values < 0, code - top, code))
    return tf.cast(code, dtype)


def unpack(codes: Any, layout: Layout) -> Any:
    """The numbers (float32) of integers."""
    top = 1 << (8 * codes.dtype.size - 1)
    code = tf.cast(codes, tf.int32)
    magnitude = tf.where(code < 0, code + top, code)
    field = tf.bitwise.right_shift(magnitude, layout.man)
    steps = magnitude - tf.bitwise.left_shift(tf.maximum(field - 1, 0), layout.man)
    exponent = tf.cast(tf.maximum(field, 1) - layout.bias - layout.man, tf.float32)
    value = tf.cast(steps, tf.float32) * tf.pow(2.0, exponent)
    value = tf.where(code < 0, -value, value)
    if layout.en_inf:
        value = tf.where(tf.equal(field, (1 << layout.exp) - 1), float("nan"), value)
    return value
