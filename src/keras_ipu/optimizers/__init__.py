"""Keras optimizers for IPUs."""

from tremula.frontends.tensorflow.keras.optimizers.als_adam import ALSOptimizerAdam
from tremula.frontends.tensorflow.keras.optimizers.als_gradient_accumulation import (
    ALSGradientAccumulationOptimizer,
)
from tremula.frontends.tensorflow.keras.optimizers.als_rmsprop import ALSOptimizerRMSProp
from tremula.frontends.tensorflow.keras.optimizers.als_sgd import ALSOptimizerSGD
from tremula.frontends.tensorflow.keras.optimizers.automatic_loss_scaling import ALSOptimizer
from tremula.frontends.tensorflow.keras.optimizers.gradient_accumulation import GradientAccumulationOptimizer

__all__ = [
    "ALSGradientAccumulationOptimizer",
    "ALSOptimizer",
    "ALSOptimizerAdam",
    "ALSOptimizerRMSProp",
    "ALSOptimizerSGD",
    "GradientAccumulationOptimizer",
]
