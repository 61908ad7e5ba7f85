"""Gradient descent with automatic loss scaling."""

from tremula.frontends.tensorflow.keras.optimizers.als_sgd import ALSOptimizerSGD

__all__ = ["ALSOptimizerSGD"]
