"""Ops that exchange data between replicas.

In a traced program each is a stock op with a mark, which has the shape of the result and, for one replica, its value.
`lowering.py` turns marked ops into arithmetic over the copies of all replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2

from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas import context
from tremula.frontends.tensorflow.static_shape import static_size

#: an op with this attribute is a collective; the value is the kind and, after a colon, the group size (0: all replicas)
COLLECTIVE_ATTRIBUTE = "_tremula_collective"
SUM, MEAN, GATHER, INDEX, COUNT = "sum", "mean", "gather", "index", "count"


def _mark(tensor: Any, kind: str, group: int | None) -> Any:
    if not tf.executing_eagerly():
        text = f"{kind}:{group or 0}".encode()
        tensor.op._set_attr(COLLECTIVE_ATTRIBUTE, attr_value_pb2.AttrValue(s=text))
    return tensor


def cross_replica_sum(x: Any, replica_group_size: int | None = None, name: str | None = None) -> Any:
    """The sum of `x` over all replicas, or over the replicas of a group. Its gradient is summed likewise."""
    check_group(replica_group_size)

    @tf.custom_gradient
    def summed(value: Any) -> tuple[Any, Callable[[Any], Any]]:
        result = _mark(tf.raw_ops.Identity(input=value, name=name), SUM, replica_group_size)
        return result, lambda gradient: cross_replica_sum(gradient, replica_group_size)

    return summed(tf.convert_to_tensor(x))


def cross_replica_mean(x: Any, replica_group_size: int | None = None, name: str | None = None) -> Any:
    """The mean of `x` over all replicas, or over the replicas of a group. Its gradient is a mean likewise."""
    check_group(replica_group_size)

    @tf.custom_gradient
    def averaged(value: Any) -> tuple[Any, Callable[[Any], Any]]:
        result = _mark(tf.raw_ops.Identity(input=value, name=name), MEAN, replica_group_size)
        return result, lambda gradient: cross_replica_mean(gradient, replica_group_size)

    return averaged(tf.convert_to_tensor(x))


def replication_index(name: str | None = None) -> Any:
    """The number of this replica in the whole run, from 0."""
    return _mark(tf.raw_ops.Identity(input=tf.constant(0, tf.int32), name=name), INDEX, None)


def replica_count(name: str | None = None) -> Any:
    """The number of replicas of the whole run, as a tensor: it may be decided when the program first runs."""
    count = 1 if context.decided_late() else context.total_replica_count()
    return _mark(tf.raw_ops.Identity(input=tf.constant(count, tf.int32), name=name), COUNT, None)


def local_replication_index() -> Any:
    """The number of this replica among those of its process."""
    index = replication_index()
    return index % context.replica_count() if active.process_count() > 1 else index


def gather(x: Any, group: int | None = None, name: str | None = None) -> Any:
    """The values of all replicas (or of the group), stacked: the same on each. The gradient comes back summed."""
    check_group(group)
    known = group or (None if context.decided_late() else context.total_replica_count())
    count = replica_count() if known is None else known

    @tf.custom_gradient
    def gathered(value: Any) -> tuple[Any, Callable[[Any], Any]]:
        shape = tf.concat([[count], tf.shape(value)], 0)
        result = tf.raw_ops.BroadcastTo(input=value[tf.newaxis], shape=shape, name=name)
        result.set_shape([known, *value.shape])
        _mark(result, GATHER, group)

        def gradient(upstream: Any) -> Any:
            return cross_replica_sum(upstream, group)[replication_index() % count]

        return result, gradient

    return gathered(tf.convert_to_tensor(x))


def all_gather(x: Any, replication_factor: int, name: str | None = None) -> Any:
    """`gather` of one tensor or of each of a structure; a list if there are several."""
    results = [gather(tensor, replication_factor, name) for tensor in tf.nest.flatten(x)]
    return results[0] if len(results) == 1 else results


def all_to_all(
    x: Any, split_dimension: int, concat_dimension: int, replication_factor: int, name: str | None = None
) -> Any:
    """Each replica splits `x` and gives part i to replica i, which joins what it gets.

    Raises:
        ValueError: the dimension cannot be split into as many parts.
    """
    x = tf.convert_to_tensor(x)
    length = static_size(x, split_dimension)
    if length is not None and length % replication_factor:
        raise ValueError(
            f"all_to_all cannot split dimension {split_dimension} of length {length} into {replication_factor} parts."
        )
    parts = tf.stack(tf.split(x, replication_factor, axis=split_dimension))
    mine = gather(parts, replication_factor, name)[:, replication_index() % replication_factor]
    return tf.concat(tf.unstack(mine, num=replication_factor), axis=concat_dimension)


#: how the values of the replicas are combined
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "COLLECTIVE_OP_ADD": tf.reduce_sum,
    "COLLECTIVE_OP_MUL": tf.reduce_prod,
    "COLLECTIVE_OP_MIN": tf.reduce_min,
    "COLLECTIVE_OP_MAX": tf.reduce_max,
    "COLLECTIVE_OP_LOGICAL_AND": tf.reduce_all,
    "COLLECTIVE_OP_LOGICAL_OR": tf.reduce_any,
    "COLLECTIVE_OP_SQUARE_ADD": lambda values, axis: tf.reduce_sum(tf.square(values), axis),
    "COLLECTIVE_OP_MEAN": tf.reduce_mean,
}


def reduce_scatter(
    x: Any, replication_factor: int, op: str = "COLLECTIVE_OP_ADD", name: str | None = None
) -> Any:
    """Combine vectors over the replicas of a group; each gets a part of the result, padded with zeros at the end.

    Raises:
        ValueError: the tensor is not a vector, or the operation is unknown.
    """
    results = [_reduce_scatter(tensor, replication_factor, op, name) for tensor in tf.nest.flatten(x)]
    return results[0] if len(results) == 1 else results


def _reduce_scatter(x: Any, count: int, op: str, name: str | None) -> Any:
    x = tf.convert_to_tensor(x)
    if x.shape.rank != 1:
        raise ValueError(f"reduce_scatter takes vectors (rank 1), and this tensor has the shape {x.shape}.")
    if op != "COLLECTIVE_OP_LOCAL" and op not in _REDUCTIONS:
        raise ValueError(
            f"reduce_scatter has no operation {op!r}; it has: {', '.join([*_REDUCTIONS, 'COLLECTIVE_OP_LOCAL'])}."
        )
    length = -(-int(static_size(x, 0)) // count)
    whole = x if op == "COLLECTIVE_OP_LOCAL" else _REDUCTIONS[op](gather(x, count, name), 0)
    padded = tf.pad(whole, [[0, length * count - int(static_size(x, 0))]])
    part = tf.slice(padded, [(replication_index() % count) * length], [length])
    part.set_shape([length])
    return part


def assume_equal_across_replicas(tensors: Any, inplace: bool = False) -> Any:
    """The tensors as they are: the program promises that they are equal on all replicas.

    Control flow that depends on them, and exchanges data inside, follows the values of replica 0.
    """
    return tf.nest.map_structure(tf.identity, tensors, expand_composites=True)


def check_group(size: int | None) -> None:
    """Refuse a group size that the replicas cannot be divided by.

    Raises:
        ValueError: with both numbers.
    """
    if size and context.in_program() and not context.decided_late():
        check_group_of(size, context.total_replica_count())
    elif size and size < 0:
        check_group_of(size, 1)


def check_group_of(size: int, replicas: int) -> None:
    """Refuse groups of `size` that so many replicas cannot be divided into.

    Raises:
        ValueError: with both numbers.
    """
    if size < 0 or (size and replicas % size):
        raise ValueError(
            f"Replica groups of {size} are not possible with {replicas} replica(s): the number of replicas must be a "
            f"multiple of the group size."
        )
