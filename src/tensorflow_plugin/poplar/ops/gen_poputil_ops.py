"""Ops of the device that move, count and print."""

from tremula.frontends.tensorflow.ops.native.poputil import (
    device_sync,
    execution_counter,
    ipu_assume_equal_across_replicas,
    ipu_barrier,
    ipu_block_recompute,
    ipu_fifo,
    ipu_print_tensor,
    ipu_remap,
    ipu_remap_deduce,
    ipu_replication_factor,
    ipu_replication_normalise,
    ipu_suggest_recompute,
    replication_index,
)

__all__ = [
    "device_sync",
    "execution_counter",
    "ipu_assume_equal_across_replicas",
    "ipu_barrier",
    "ipu_block_recompute",
    "ipu_fifo",
    "ipu_print_tensor",
    "ipu_remap",
    "ipu_remap_deduce",
    "ipu_replication_factor",
    "ipu_replication_normalise",
    "ipu_suggest_recompute",
    "replication_index",
]
