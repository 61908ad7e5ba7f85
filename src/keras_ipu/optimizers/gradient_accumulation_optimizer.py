"""Accumulation of gradients."""

from tremula.frontends.tensorflow.keras.optimizers.gradient_accumulation import GradientAccumulationOptimizer

__all__ = ["GradientAccumulationOptimizer"]
