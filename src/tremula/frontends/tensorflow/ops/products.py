"""Matrix products and sums over rows that the device can divide into steps."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.static_shape import static_size

_DIMENSIONS = ("a_columns", "a_rows_b_columns", "b_rows")


def serialized_matmul(
    a: Any,
    b: Any,
    serialization_factor: int,
    serialization_dimension: str,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply `a` by `b`, on the device in steps that need less memory.

    The product is `[..., m, k]` times `[..., k, n]` after the transpositions. The host makes it in one piece: the steps
    change the result by rounding only. They are facts for the chip model.

    Args:
        a: a tensor of at least two dimensions.
        b: a tensor of at least two dimensions and the type of `a`.
        serialization_factor: the number of steps; it has to divide the dimension.
        serialization_dimension: `a_columns` for m, `a_rows_b_columns` for k, `b_rows` for n.
        transpose_a: transpose the last two dimensions of `a` first.
        transpose_b: transpose the last two dimensions of `b` first.
        name: of the op.

    Raises:
        ValueError: the factor or the dimension does not fit the shapes.
    """
    factor = int(serialization_factor)
    if factor < 1:
        raise ValueError(f"serialization_factor has to be at least 1, but was {factor}.")
    a, b = tf.convert_to_tensor(a), tf.convert_to_tensor(b)
    for label, tensor in (("a", a), ("b", b)):
        if tensor.shape.rank is None or tensor.shape.rank < 2:
            raise ValueError(
                f"Expected tensor {label!r} to have a minimum rank of 2; its shape is {tensor.shape}."
            )
    m, k = (
        (static_size(a, -1), static_size(a, -2)) if transpose_a else (static_size(a, -2), static_size(a, -1))
    )
    rows_of_b, n = (
        (static_size(b, -1), static_size(b, -2)) if transpose_b else (static_size(b, -2), static_size(b, -1))
    )
    if k != rows_of_b:
        raise ValueError(f"The columns of 'a' ({k}) have to match the rows of 'b' ({rows_of_b}).")
    if serialization_dimension not in _DIMENSIONS:
        raise ValueError(
            f"Invalid serialization_dimension={serialization_dimension}, expected one of: {', '.join(_DIMENSIONS)}."
        )
    size = {"a_columns": m, "a_rows_b_columns": k, "b_rows": n}[serialization_dimension]
    if size is None or size % factor:
        raise ValueError(
            f"Expected 'serialization_factor' ({factor}) to divide the dimension {serialization_dimension} ({size})."
        )
    product = tf.matmul(a, b, transpose_a, transpose_b, name=name or "serialized_matmul")
    return facts.record(product, serialization_factor=factor, serialization_dimension=serialization_dimension)


def segment_sum(data: Any, segment_ids: Any, num_segments: int, name: str | None = None) -> Any:
    """Add up the slices of `data` along the first axis that have the same segment.

    Args:
        data: a tensor of at least one dimension, its shape known.
        segment_ids: the segment of each slice, in ascending order. Slices of a segment that is not there are left out.
        num_segments: the number of segments of the result. A segment without slices is zero.
        name: of the op.

    Raises:
        ValueError: a shape is unknown or does not fit.
    """
    data = tf.convert_to_tensor(data)
    segment_ids = tf.convert_to_tensor(segment_ids, dtype=tf.int32)
    for label, tensor in (("data", data), ("segment_ids", segment_ids)):
        if not tensor.shape.is_fully_defined():
            raise ValueError(f"Shape of {label} must be fully defined; it is {tensor.shape}.")
    data.shape.with_rank_at_least(1)
    segment_ids.shape.with_rank(1)
    num_segments = int(num_segments)
    if num_segments <= 0:
        raise ValueError(f"num_segments must be greater than 0; got {num_segments}")
    if static_size(data, 0) != static_size(segment_ids, 0):
        raise ValueError(
            f"segment_ids (shape {segment_ids.shape}) must have same length as axis 0 of data (shape {data.shape})"
        )
    with tf.name_scope(name or "segment_sum"):
        return sum_rows(data, segment_ids, num_segments)


def sum_rows(updates: Any, indices: Any, rows: int) -> Any:
    """Rows of zeros with `updates` added at `indices`. An index that is out of range adds nothing."""
    known = tf.where(indices < tf.cast(rows, indices.dtype), indices, -tf.ones_like(indices))
    return tf.math.unsorted_segment_sum(updates, known, rows)


def take_rows(table: Any, indices: Any) -> Any:
    """The rows of `table` at `indices`. An index that is out of range gives zeros: TensorFlow's own op raises.

    The gradient is dense, as on the device.
    """
    rows = static_size(table, 0) if static_size(table, 0) is not None else tf.shape(table)[0]
    present = (indices >= 0) & (indices < tf.cast(rows, indices.dtype))
    inner = tf.shape(table)[1:]

    @tf.custom_gradient
    def take(table: Any) -> Any:
        taken = tf.gather(table, tf.where(present, indices, tf.zeros_like(indices)))
        mask = tf.reshape(present, tf.concat([tf.shape(indices), tf.ones_like(inner)], 0))

        def gradient(incoming: Any) -> Any:
            flat = tf.reshape(incoming, tf.concat([[-1], inner], 0))
            return tf.ensure_shape(sum_rows(flat, tf.reshape(indices, [-1]), rows), table.shape)

        return tf.where(mask, taken, tf.zeros_like(taken)), gradient

    return take(table)
