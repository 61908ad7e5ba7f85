"""Collectives over replicas, and over the IPUs of one replica."""

from .collectives import CommGroup, CommGroupType
from .over_ipus import all_reduce, all_reduce_identical_grad_inputs, all_reduce_identical_inputs
from .over_replicas import (
    replica_sharded_slice,
    replicated_all_gather,
    replicated_all_reduce,
    replicated_all_reduce_,
    replicated_reduce_scatter,
    replicated_slice,
)

__all__ = [
    "CommGroup",
    "CommGroupType",
    "all_reduce",
    "all_reduce_identical_grad_inputs",
    "all_reduce_identical_inputs",
    "replica_sharded_slice",
    "replicated_all_gather",
    "replicated_all_reduce",
    "replicated_all_reduce_",
    "replicated_reduce_scatter",
    "replicated_slice",
]
