"""How gradients of several micro-batches become one: types and formulas of the accumulators."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.pipeline import facts
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod as Method


def accumulator_dtype(like: Any, override: Any) -> Any:
    """The type of the accumulator for a variable or tensor.

    Args:
        like: the variable or tensor.
        override: a type, a function from `like` to a type, or None for the type of `like`.

    Raises:
        TypeError: `override` is none of these.
    """
    if override is None:
        return tf.dtypes.as_dtype(like.dtype).base_dtype
    try:
        # a type can be called as well: it has to be tried first
        return tf.dtypes.as_dtype(override)
    except TypeError:
        if not callable(override):
            raise
        return tf.dtypes.as_dtype(override(like))


def dense(gradient: Any) -> Any:
    """A gradient as one tensor; None stays None."""
    return None if gradient is None else tf.convert_to_tensor(gradient)


def scaled(gradient: Any, method: Method, number: Any, count: Any, dtype: Any) -> Any:
    """What micro-batch `number` of `count` adds to an accumulator of this type."""
    if method is Method.SUM:
        return tf.cast(gradient, dtype)
    share = tf.cast(count, tf.float32) if method is Method.MEAN else tf.cast(number, tf.float32) + 1.0
    # in the wider type of both, as the device adds a scaled tensor in one operation
    wide = gradient.dtype if gradient.dtype.size > dtype.size else dtype
    return tf.cast(tf.cast(gradient, wide) * tf.cast(1.0 / share, wide), dtype)


def combined(accumulator: Any, gradient: Any, method: Method, number: Any, count: Any) -> Any:
    """The accumulator after micro-batch `number` of `count`."""
    with facts.marked(facts.ACCUMULATE):
        addend = scaled(gradient, method, number, count, accumulator.dtype)
        if method is Method.RUNNING_MEAN:
            n = tf.cast(number, tf.float32)
            accumulator = accumulator * tf.cast(n * (1.0 / (n + 1.0)), accumulator.dtype)
        return accumulator + addend
