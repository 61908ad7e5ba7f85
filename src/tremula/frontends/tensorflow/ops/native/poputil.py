"""`gen_poputil_ops`: ops of the device that move, count and print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts, internal
from tremula.frontends.tensorflow.replicas import collectives


def ipu_remap(input: Any, name: str | None = None) -> Any:
    """A copy, spread evenly over the tiles."""
    return internal.remap(input, name)


def ipu_remap_deduce(input: Any, name: str | None = None) -> Any:
    """A copy, placed anew."""
    return internal.remap_deduce(input, name)


def ipu_print_tensor(input: Any, tensor_name: str, name: str | None = None) -> Any:
    """Print a tensor."""
    return internal.print_tensor(input, tensor_name)


def ipu_fifo(input: Any, depth: int, offload: bool, name: str | None = None) -> Any:
    """What a tensor was some executions ago."""
    return internal.fifo(input, depth, offload, name)


def ipu_barrier(
    inputs: Sequence[Any], insert_barrier_for_gradients: bool = False, name: str | None = None
) -> Any:
    """Tensors that are usable when all of them are there."""
    return internal.barrier(list(inputs), insert_barrier_for_gradients, name)


def execution_counter(lower_into_pipeline_stage: bool = False, name: str | None = None) -> Any:
    """Which micro-batch of the weight update the pipeline is at."""
    return internal.get_current_iteration_counter(name, lower_into_pipeline_stage=lower_into_pipeline_stage)


def device_sync(name: str | None = None) -> Any:
    """A point that the device's tiles reach together: nothing to do on the host."""
    return tf.no_op(name)


def replication_index(name: str | None = None) -> Any:
    """The number of this replica."""
    return collectives.replication_index(name)


def ipu_replication_factor(name: str | None = None) -> Any:
    """The number of replicas."""
    return collectives.replica_count(name)


def ipu_replication_normalise(input: Any, name: str | None = None) -> Any:
    """A tensor divided by the number of replicas."""
    x = tf.convert_to_tensor(input)
    return tf.divide(x, tf.cast(collectives.replica_count(), x.dtype), name=name)


def ipu_assume_equal_across_replicas(inputs: Any, name: str | None = None) -> Any:
    """A tensor that the program promises to be equal on all replicas."""
    return collectives.assume_equal_across_replicas(inputs)


def ipu_suggest_recompute(input: Any, name: str | None = None) -> Any:
    """A tensor that the device may compute again for the backward pass."""
    return facts.record(tf.identity(input, name=name), recompute="suggested")


def ipu_block_recompute(input: Any, name: str | None = None) -> Any:
    """A tensor that the device must not compute again for the backward pass."""
    return facts.record(tf.identity(input, name=name), recompute="blocked")
