"""Which IPU of a replica an op is on."""

from tremula.frontends.tensorflow.sharding import (
    ATTRIBUTE as _XLA_SHARDING,
)
from tremula.frontends.tensorflow.sharding import (
    dependencies,
    enable_sharded_gradient_tape,
    get_shard_from_colocation,
    get_sharding,
    has_attr,
    propagate_sharding,
)

__all__ = [
    "dependencies",
    "enable_sharded_gradient_tape",
    "get_shard_from_colocation",
    "get_sharding",
    "has_attr",
    "propagate_sharding",
]
