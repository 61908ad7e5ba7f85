"""Collectives as arithmetic over the values of replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.replicas.collectives import GATHER, MEAN


def summed(copies: list[Any]) -> Any:
    """The sum in the order of the replicas."""
    total = copies[0]
    for copy in copies[1:]:
        total = total + copy
    return total


def _mean(copies: list[Any]) -> Any:
    count = len(copies)
    return after_sum(MEAN, summed([before_sum(MEAN, copy, count) for copy in copies]), count)


def before_sum(kind: str, value: Any, count: int) -> Any:
    """A value that is summed: for a mean of halves its part, since their sum may overflow where the mean does not."""
    if kind == MEAN and count > 1 and value.dtype == tf.float16:
        return value / tf.cast(count, value.dtype)
    return value


def after_sum(kind: str, total: Any, count: int) -> Any:
    """What a reduction gives for the sum of `count` values."""
    dtype = total.dtype
    if kind != MEAN or count == 1 or dtype == tf.float16:
        return total
    return total / tf.cast(count, dtype) if dtype.is_floating or dtype.is_complex else total // count


#: what joins the values of replicas, by kind of collective; `summed` for the others
JOINS: dict[str, Callable[[list[Any]], Any]] = {GATHER: lambda copies: tf.concat(copies, 0), MEAN: _mean}
