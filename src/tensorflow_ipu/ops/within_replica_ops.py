"""Collectives between the shards of a replica."""

from tremula.frontends.tensorflow.ops.shards import (
    all_gather,
    all_reduce,
    reduce_scatter,
)

__all__ = ["all_gather", "all_reduce", "reduce_scatter"]
