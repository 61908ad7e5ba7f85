"""Collectives between the shards of one replica: the tensors lie on the IPUs 0, 1, 2, ... in this order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.static_shape import static_size

_REDUCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "COLLECTIVE_OP_ADD": tf.add_n,
    "COLLECTIVE_OP_MUL": lambda tensors: tf.reduce_prod(tf.stack(tensors), 0),
    "COLLECTIVE_OP_MIN": lambda tensors: tf.reduce_min(tf.stack(tensors), 0),
    "COLLECTIVE_OP_MAX": lambda tensors: tf.reduce_max(tf.stack(tensors), 0),
    "COLLECTIVE_OP_LOGICAL_AND": lambda tensors: tf.reduce_all(tf.stack(tensors), 0),
    "COLLECTIVE_OP_LOGICAL_OR": lambda tensors: tf.reduce_any(tf.stack(tensors), 0),
    "COLLECTIVE_OP_LOCAL": lambda tensors: tensors[0],
}


def all_reduce(input_shards: Sequence[Any], op: str) -> list[Any]:
    """Reduce the shards element by element; each shard gets the whole result.

    Args:
        input_shards: a scalar or vector on each shard, in the order of the shards. Shorter ones are padded with zeros.
        op: `COLLECTIVE_OP_ADD`, `..._MUL`, `..._MIN`, `..._MAX`, `..._LOGICAL_AND`, `..._LOGICAL_OR` or `..._LOCAL`.

    Raises:
        ValueError: tensors are given twice, or differ in type or rank, or the op is unknown.
    """
    reduced = _reduce(input_shards, op)
    return [tf.identity(reduced) for _ in input_shards]


def reduce_scatter(input_shards: Sequence[Any], op: str) -> list[Any]:
    """Reduce the shards element by element; each shard gets its part of the result.

    The elements are dealt in turn: shard 0 gets the first, shard 1 the second. Zeros make the parts equally long.

    Args:
        input_shards: a scalar or vector on each shard, in the order of the shards. Shorter ones are padded with zeros.
        op: as in `all_reduce`.

    Raises:
        ValueError: tensors are given twice, or differ in type or rank, or the op is unknown.
    """
    reduced = _reduce(input_shards, op)
    count = len(input_shards)
    part = math.ceil(static_size(reduced, 0) / count)
    dealt = tf.reshape(_padded(reduced, part * count), [part, count])
    return tf.unstack(dealt, axis=1)


def all_gather(input_shards: Sequence[Any], axis: int = 0) -> list[Any]:
    """Join the shards; each shard gets the whole.

    Args:
        input_shards: a tensor on each shard, in the order of the shards.
        axis: the axis along which they are joined. Scalars become a vector.

    Raises:
        ValueError: tensors are given twice, or differ in type, rank, or a dimension other than `axis`.
    """
    _check(input_shards)
    _check_order(input_shards)
    if input_shards[0].shape.rank == 0:
        joined = tf.stack(input_shards)
    else:
        first = input_shards[0].shape.as_list()
        for index, shard in enumerate(input_shards):
            shape = shard.shape.as_list()
            if shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
                raise ValueError(
                    f"Shards have to have the same sizes in all dimensions but {axis}: shard 0 has the shape {first}, "
                    f"shard {index} has {shape}."
                )
        joined = tf.concat(input_shards, axis)
    facts.record(joined, shard_collective="all_gather")
    return [tf.identity(joined) for _ in input_shards]


def _reduce(input_shards: Sequence[Any], op: str) -> Any:
    _check(input_shards)
    _check_order(input_shards)
    if op not in _REDUCTIONS:
        raise ValueError(f"Unknown collective op {op!r}. Choose one of {', '.join(_REDUCTIONS)}.")
    if input_shards[0].shape.rank > 1:
        raise ValueError(
            f"Only scalars or vectors can be reduced; these shards are {input_shards[0].shape} and more."
        )
    vectors = [tf.reshape(shard, [1]) if shard.shape.rank == 0 else shard for shard in input_shards]
    longest = max(static_size(vector, 0) for vector in vectors)
    return facts.record(
        _REDUCTIONS[op]([_padded(vector, longest) for vector in vectors]), shard_collective=op
    )


def _padded(vector: Any, size: int) -> Any:
    missing = size - static_size(vector, 0)
    return tf.pad(vector, [[0, missing]]) if missing else vector


def _check(input_shards: Sequence[Any]) -> None:
    if len({shard.ref() for shard in input_shards}) != len(input_shards):
        raise ValueError(
            "input_shards should not contain any duplicate entries: each shard needs a separate tensor."
        )
    if len({shard.dtype for shard in input_shards}) != 1:
        raise ValueError(
            f"Shards have to be of the same type; these are {[s.dtype.name for s in input_shards]}."
        )
    if len({shard.shape.rank for shard in input_shards}) != 1:
        raise ValueError(
            f"Shards have to be of the same rank; these are {[str(s.shape) for s in input_shards]}."
        )


def _check_order(input_shards: Sequence[Any]) -> None:
    """Refuse tensors that are said to lie on other IPUs than their places in the list."""
    for place, shard in enumerate(input_shards):
        found = None if hasattr(shard, "numpy") else sharding.get_sharding(shard.op)
        if found and found[0] >= 0 and found[0] != place:
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                f"Tensors of a collective within a replica have to be given in the order of the IPUs: number {place} "
                f"is on shard {found[0]} ({shard.name}).",
            )
