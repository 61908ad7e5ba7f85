"""Checks that both kinds of queue share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import distribute_lib

#: types that the device's streams do not carry
NOT_STREAMED = (tf.int64, tf.float64, tf.complex64, tf.complex128, tf.string)


def device_ordinal(given: int | None) -> int:
    """The ordinal of the device that a queue belongs to: as given, or that of the strategy in scope.

    Raises:
        ValueError: it is not a whole number from 0 up.
    """
    if given is None:
        return getattr(distribute_lib.get_strategy(), "_device_ordinal", 0)
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError(f"Device ordinal must be an integer, and {given!r} is not one.")
    if given < 0:
        raise ValueError(f"Device ordinal must be >= 0, and {given} is not.")
    return given


def check_elements(types: Iterable[Any], shapes: Iterable[Any], feed: str) -> None:
    """Refuse what the device's streams do not carry.

    Raises:
        FailedPreconditionError: a type that is not carried.
        InvalidArgumentError: a dimension of size 0.
    """
    for index, (dtype, shape) in enumerate(zip(types, shapes, strict=True)):
        if dtype in NOT_STREAMED:
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                f"Unsupported datatype {dtype.name} on index {index} of feed operation: {feed}. Cast it to a type "
                f"of at most 32 bits, for example with dataset.map and tf.cast.",
            )
        if 0 in (shape.as_list() if shape.rank is not None else ()):
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                f"Detected an input tensor to an {feed} with a dimension of size 0 (index {index}, shape {shape}): "
                f"the device cannot stream empty tensors.",
            )
