"""Datasets whose elements count up: element `i` is filled with `i`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

_DATA, _LABEL = [1, 32, 32, 4], [1, 8]


def create_multi_increasing_dataset(
    value: int,
    shapes: Sequence[Sequence[int]] | None = None,
    dtypes: Sequence[Any] | None = None,
    repeat: bool = True,
) -> Any:
    """Elements of one tensor for each shape, filled with 0, 1, ... `value` - 1, over and over with `repeat`."""
    kinds = list(zip(shapes or [_DATA, _LABEL], dtypes or [np.float32, np.float32], strict=False))
    dataset = tf.data.Dataset.range(value).map(
        lambda number: tuple(tf.cast(tf.broadcast_to(number, shape), dtype) for shape, dtype in kinds)
    )
    return dataset.repeat() if repeat else dataset


def create_dual_increasing_dataset(
    value: int,
    data_shape: Sequence[int] | None = None,
    label_shape: Sequence[int] | None = None,
    dtype: Any = np.float32,
    repeat: bool = True,
) -> Any:
    """Elements of data and label."""
    shapes = [data_shape or _DATA, label_shape or _LABEL]
    return create_multi_increasing_dataset(value, shapes, [dtype, dtype], repeat)


def create_single_increasing_dataset(
    value: int, shape: Sequence[int] | None = None, dtype: Any = np.float32, repeat: bool = True
) -> Any:
    """Elements of one tensor."""
    return create_multi_increasing_dataset(value, [_DATA if shape is None else shape], [dtype], repeat)
