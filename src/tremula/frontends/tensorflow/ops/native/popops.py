"""`gen_popops_ops`: slices, sums and collectives of the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts, histograms, images, sequences, shards
from tremula.frontends.tensorflow.ops.products import sum_rows, take_rows
from tremula.frontends.tensorflow.replicas import collectives


def ipu_multi_slice(
    input: Any, indices: Any, indices_are_sorted: bool = False, name: str | None = None
) -> Any:
    """The rows of a matrix at some indices. An index that is out of range gives zeros."""
    table, indices = tf.convert_to_tensor(input), tf.cast(indices, tf.int32)
    with tf.name_scope(name or "multi_slice"):
        return facts.record(take_rows(table, indices), indices_are_sorted=indices_are_sorted)


def ipu_multi_update(
    input: Any, indices: Any, updates: Any, indices_are_sorted: bool = False, name: str | None = None
) -> Any:
    """A matrix with the rows at some indices replaced. An index that is out of range replaces nothing."""
    table, indices = tf.convert_to_tensor(input), tf.cast(indices, tf.int32)
    with tf.name_scope(name or "multi_update"):
        indices = tf.reshape(indices, [-1])
        present = (indices >= 0) & (indices < tf.shape(table)[0])
        updates = tf.reshape(updates, tf.concat([[-1], tf.shape(table)[1:]], 0))
        kept, rows = tf.boolean_mask(indices, present), tf.boolean_mask(updates, present)
        result = tf.tensor_scatter_nd_update(table, kept[:, tf.newaxis], rows)
        return facts.record(result, indices_are_sorted=indices_are_sorted)


def ipu_multi_update_add(
    input: Any,
    indices: Any,
    updates: Any,
    scale: Any,
    indices_are_sorted: bool = False,
    name: str | None = None,
) -> Any:
    """A matrix with scaled rows added at some indices. An index that is out of range adds nothing."""
    table, indices = tf.convert_to_tensor(input), tf.cast(indices, tf.int32)
    with tf.name_scope(name or "multi_update_add"):
        updates = tf.reshape(tf.cast(updates, table.dtype), tf.concat([[-1], tf.shape(table)[1:]], 0))
        added = sum_rows(updates, tf.reshape(indices, [-1]), tf.shape(table)[0])
        result = table + added * tf.cast(scale, table.dtype)
        return facts.record(result, indices_are_sorted=indices_are_sorted)


def ipu_sequence_slice(
    dst: Any,
    src: Any,
    num_elems: Any,
    src_offsets: Any,
    dst_offsets: Any,
    zero_unused: bool = False,
    name: str | None = None,
) -> Any:
    """Copy runs of rows."""
    with tf.name_scope(name or "sequence_slice"):
        return sequences.sequence_slice(dst, src, num_elems, src_offsets, dst_offsets, zero_unused)


def ipu_sequence_slice_unpack(
    src: Any, num_elems: Any, src_offsets: Any, dst_offsets: Any, total_elements: int, name: str | None = None
) -> Any:
    """Copy runs of rows into rows of zeros."""
    src, num_elems, src_offsets, dst_offsets = (
        tf.convert_to_tensor(value) for value in (src, num_elems, src_offsets, dst_offsets)
    )
    with tf.name_scope(name or "sequence_slice_unpack"):
        return sequences.unpack(src, num_elems, src_offsets, dst_offsets, total_elements)


def ipu_histogram(input: Any, levels: Any, absolute_of_input: bool, name: str | None = None) -> Any:
    """Counts between levels."""
    with tf.name_scope(name or "histogram"):
        return histograms.histogram(input, levels, absolute_of_input)


def ipu_histogram_update(
    hist: Any, input: Any, levels: Any, absolute_of_input: bool, name: str | None = None
) -> Any:
    """More counts between levels."""
    with tf.name_scope(name or "histogram_update"):
        return histograms.histogram_update(hist, input, levels, absolute_of_input)


def normalise_image(
    image: Any, channel_offsets: Any, channel_scales: Any, scale: float, name: str | None = None
) -> Any:
    """Normalise the three channels of images and add a fourth."""
    return images.normalise_image(image, channel_offsets, channel_scales, scale, name)


def ipu_all_gather_within_replica(inputs: Sequence[Any], name: str | None = None) -> list[Any]:
    """Join vectors of the shards."""
    with tf.name_scope(name or "all_gather_within_replica"):
        return shards.all_gather(inputs)


def ipu_reduce_scatter_within_replica(
    inputs: Sequence[Any], collective_op: str, name: str | None = None
) -> list[Any]:
    """Reduce vectors of the shards and deal the result."""
    with tf.name_scope(name or "reduce_scatter_within_replica"):
        return shards.reduce_scatter(inputs, collective_op)


def ipu_all_reduce_within_replica(
    inputs: Sequence[Any], collective_op: str, name: str | None = None
) -> list[Any]:
    """Reduce vectors of the shards."""
    with tf.name_scope(name or "all_reduce_within_replica"):
        return shards.all_reduce(inputs, collective_op)


def ipu_cross_replica_sum(input: Any, replica_group_size: int = 0, name: str | None = None) -> Any:
    """The sum over the replicas."""
    return collectives.cross_replica_sum(input, replica_group_size or None, name)


def ipu_cross_replica_mean(input: Any, replica_group_size: int = 0, name: str | None = None) -> Any:
    """The mean over the replicas."""
    return collectives.cross_replica_mean(input, replica_group_size or None, name)


def ipu_all_gather(inputs: Sequence[Any], replication_factor: int, name: str | None = None) -> list[Any]:
    """The values of all replicas, stacked, for each tensor."""
    return [collectives.gather(tensor, replication_factor, name) for tensor in inputs]


def ipu_all_to_all(
    input: Any, split_dimension: int, concat_dimension: int, number_of_replicas: int, name: str | None = None
) -> Any:
    """Parts exchanged between the replicas."""
    return collectives.all_to_all(input, split_dimension, concat_dimension, number_of_replicas, name)


def ipu_reduce_scatter(
    inputs: Sequence[Any], op: str, replication_factor: int, name: str | None = None
) -> list[Any]:
    """Vectors combined over the replicas, a part for each, for each tensor."""
    return [collectives.reduce_scatter(tensor, replication_factor, op, name) for tensor in inputs]
