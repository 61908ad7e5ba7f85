"""Histograms over given levels: one bin below each level, and one for all that is not below the last."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.static_shape import static_size


def fixed_width_bins(inputs: Any, n_bins: int) -> Any:
    """`n_bins` evenly spaced levels from the smallest to the largest of `inputs`."""
    inputs = tf.convert_to_tensor(inputs)
    return tf.linspace(tf.reduce_min(inputs), tf.reduce_max(inputs), n_bins)


def histogram_normalize(hist: Any) -> Any:
    """The histogram divided by its sum."""
    hist = tf.convert_to_tensor(hist)
    return hist / tf.reduce_sum(hist, axis=0)


def histogram(inputs: Any, levels: Any, absolute_of_input: bool = False) -> Any:
    """Count the inputs between the levels.

    Args:
        inputs: a float16 or float32 vector.
        levels: the ascending levels, a vector of n values.
        absolute_of_input: count magnitudes.

    Returns:
        n + 1 counts in float32.

    Raises:
        ValueError: a type or rank does not fit.
    """
    inputs, levels = tf.convert_to_tensor(inputs), tf.convert_to_tensor(levels)
    _check_types(inputs, levels)
    _check_ranks("histogram", inputs, levels)
    return counts(inputs, levels, absolute_of_input)


def histogram_update(hist: Any, inputs: Any, levels: Any, absolute_of_input: bool = False) -> Any:
    """Add the counts of more inputs to a histogram.

    Args:
        hist: the counts so far, n + 1 values in float32.
        inputs: a float16 or float32 vector.
        levels: the ascending levels, a vector of n values.
        absolute_of_input: count magnitudes.

    Raises:
        ValueError: a type or shape does not fit.
    """
    hist, inputs, levels = (tf.convert_to_tensor(value) for value in (hist, inputs, levels))
    if hist.dtype != tf.float32:
        raise ValueError(f"hist must be of float32 type, not {hist.dtype.name}.")
    _check_types(inputs, levels)
    _check_ranks("histogram_update", hist, inputs, levels)
    bins, bounds = static_size(hist, 0), static_size(levels, 0)
    if bins != bounds + 1:
        raise ValueError(
            f"hist and levels shapes are incompatible: {bounds} levels need {bounds + 1} counts, and hist has {bins}."
        )
    return hist + counts(inputs, levels, absolute_of_input)


def counts(inputs: Any, levels: Any, absolute_of_input: bool) -> Any:
    """How many inputs are in each bin, in float32."""
    values = tf.cast(tf.abs(inputs) if absolute_of_input else inputs, tf.float32)
    bins = tf.searchsorted(tf.cast(levels, tf.float32), values, side="right")
    size = tf.size(levels) + 1
    found = tf.math.unsorted_segment_sum(tf.ones_like(values), bins, size)
    if static_size(levels, 0) is not None:
        found.set_shape([static_size(levels, 0) + 1])
    return found


def _check_types(*tensors: Any) -> None:
    for tensor in tensors:
        if tensor.dtype not in (tf.float16, tf.float32):
            raise ValueError(
                f"Only float16 and float32 types are supported for histograms; this one is {tensor.dtype.name}."
            )


def _check_ranks(function: str, *tensors: Any) -> None:
    if any(tensor.shape.rank != 1 for tensor in tensors):
        shapes = ", ".join(str(tensor.shape) for tensor in tensors)
        raise ValueError(f"{function} expects rank-1 tensor inputs. The shapes are {shapes}.")
