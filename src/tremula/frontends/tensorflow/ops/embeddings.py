"""Look-ups in tables that are on the device.

The gradient of a look-up is dense, as on the device: an optimizer updates all rows, not only those that were looked up.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.ops.products import take_rows
from tremula.frontends.tensorflow.static_shape import static_size


def embedding_lookup(
    params: Any,
    ids: Any,
    serialization_factor: int = 1,
    indices_are_sorted: bool = False,
    name: str | None = None,
) -> Any:
    """Rows of a table.

    Args:
        params: the table; a row is everything but the first dimension.
        ids: numbers of rows, of any shape.
        serialization_factor: look up in so many parts of the table, one after the other. A number that is in no part
            gives a row of zeros.
        indices_are_sorted: recorded for the chip model.
        name: of the op.

    Raises:
        ValueError: the factor is less than 1 or does not divide the number of rows.
    """
    factor = int(serialization_factor)
    if factor < 1:
        raise ValueError(f"serialization_factor has to be at least 1, but it is {factor}.")
    params, ids = tf.convert_to_tensor(params), tf.convert_to_tensor(ids)
    rows = static_size(params, 0)
    if rows is None or rows % factor:
        raise ValueError(
            f"The serialization_factor ({factor}) must divide the size of the 0th dimension of params ({rows})."
        )
    sizes = {
        "entries": rows,
        "width": params.shape[1:].num_elements(),
        "lookups": ids.shape.num_elements(),
        "serialization_factor": factor,
    }
    with tf.name_scope(name or "embedding_lookup"), facts.composite("Embedding", **sizes):
        table = tf.reshape(params, [rows, -1])
        flat = tf.reshape(ids, [-1])
        if factor == 1:
            found = multi_slice(table, flat, indices_are_sorted)
        else:
            found = _in_parts(table, flat, factor, indices_are_sorted)
        shape = tf.concat([tf.shape(ids), tf.shape(params)[1:]], 0)
        found = tf.ensure_shape(tf.reshape(found, shape), ids.shape.concatenate(params.shape[1:]))
    return facts.record(found, indices_are_sorted=bool(indices_are_sorted), serialization_factor=factor)


def multi_slice(input: Any, indices: Any, indices_are_sorted: bool = False, name: str | None = None) -> Any:
    """The rows `indices` of a matrix. A number that is out of range gives a row of zeros."""
    with tf.name_scope(name or "multi_slice"):
        return take_rows(tf.convert_to_tensor(input), tf.convert_to_tensor(indices))


def multi_update_add(
    input: Any,
    indices: Any,
    updates: Any,
    scale: Any,
    indices_are_sorted: bool = False,
    name: str | None = None,
) -> Any:
    """A matrix to whose rows `indices` the scaled rows of `updates` are added; a row may be there several times."""
    table = tf.convert_to_tensor(input)
    scaled = tf.convert_to_tensor(updates) * tf.cast(scale, table.dtype)
    return tf.add(table, _scattered(table, tf.convert_to_tensor(indices), scaled), name=name)


def _scattered(table: Any, indices: Any, updates: Any) -> Any:
    dense = tf.math.unsorted_segment_sum(updates, indices, tf.shape(table)[0])
    return tf.ensure_shape(dense, table.shape)


def _in_parts(table: Any, ids: Any, factor: int, indices_are_sorted: bool) -> Any:
    size = static_size(table, 0) // factor

    @tf.custom_gradient
    def looked_up(whole: Any) -> Any:
        total = tf.zeros([tf.shape(ids)[0], tf.shape(whole)[1]], whole.dtype)
        for part in range(factor):
            local = ids - part * size
            inside = tf.logical_and(local >= 0, local < size)
            rows = multi_slice(
                whole[part * size : (part + 1) * size], tf.where(inside, local, 0), indices_are_sorted
            )
            total += tf.where(inside[:, tf.newaxis], rows, tf.zeros_like(rows))

        def backwards(updates: Any) -> Any:
            # A segment sum leaves out what is in no segment; it wants negative numbers for that.
            inside = tf.logical_and(ids >= 0, ids < static_size(whole, 0))
            return _scattered(whole, tf.where(inside, ids, -1), updates)

        return total, backwards

    return looked_up(table)
