"""The optimizer over replicas."""

from tremula.frontends.tensorflow.optimizers.mapping import CrossReplicaOptimizer

__all__ = ["CrossReplicaOptimizer"]
