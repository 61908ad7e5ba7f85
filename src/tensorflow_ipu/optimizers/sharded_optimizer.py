"""The optimizer for sharded graphs."""

from tremula.frontends.tensorflow.optimizers.mapping import ShardedOptimizer

__all__ = ["ShardedOptimizer"]
