"""Optimizers that take scaled gradients."""

from tremula.frontends.tensorflow.keras.optimizers.unscaling import (
    ParameterUnscalingALSOptimizer as _ParameterUnscalingALSOptimizer,
)
from tremula.frontends.tensorflow.keras.optimizers.unscaling import (
    ParameterUnscalingOptimizer as _ParameterUnscalingOptimizer,
)

__all__ = ["_ParameterUnscalingALSOptimizer", "_ParameterUnscalingOptimizer"]
