"""Optimizers of TensorFlow 1 style."""

from tremula.frontends.tensorflow.optimizers.accumulation import (
    CrossReplicaGradientAccumulationOptimizer,
    CrossReplicaGradientAccumulationOptimizerV2,
    GradientAccumulationOptimizer,
    GradientAccumulationOptimizerV2,
)
from tremula.frontends.tensorflow.optimizers.mapping import (
    CrossReplicaOptimizer,
    MapGradientOptimizer,
    ShardedOptimizer,
)
from tremula.frontends.tensorflow.optimizers.mapping import (
    MapGradientOptimizerInvertedChaining as _MapGradientOptimizerInvertedChaining,
)
from tremula.frontends.tensorflow.optimizers.wrapper import IpuOptimizer
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod

__all__ = [
    "CrossReplicaGradientAccumulationOptimizer",
    "CrossReplicaGradientAccumulationOptimizerV2",
    "CrossReplicaOptimizer",
    "GradientAccumulationOptimizer",
    "GradientAccumulationOptimizerV2",
    "GradientAccumulationReductionMethod",
    "IpuOptimizer",
    "MapGradientOptimizer",
    "ShardedOptimizer",
]
