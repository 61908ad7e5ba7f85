"""Automatic loss scaling."""

from tremula.frontends.tensorflow.keras.optimizers.als_gradient_accumulation import (
    ALSGradientAccumulationOptimizer,
)
from tremula.frontends.tensorflow.keras.optimizers.als_settings import ALSDefaults
from tremula.frontends.tensorflow.keras.optimizers.automatic_loss_scaling import ALSOptimizer

__all__ = ["ALSDefaults", "ALSGradientAccumulationOptimizer", "ALSOptimizer"]
