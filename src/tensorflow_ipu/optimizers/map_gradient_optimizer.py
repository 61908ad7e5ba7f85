"""The optimizer that changes gradients."""

from tremula.frontends.tensorflow.optimizers.mapping import MapGradientOptimizer
from tremula.frontends.tensorflow.optimizers.mapping import (
    MapGradientOptimizerInvertedChaining as _MapGradientOptimizerInvertedChaining,
)

__all__ = ["MapGradientOptimizer"]
