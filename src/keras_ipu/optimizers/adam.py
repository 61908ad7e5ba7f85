"""Adam with automatic loss scaling."""

from tremula.frontends.tensorflow.keras.optimizers.als_adam import ALSOptimizerAdam

__all__ = ["ALSOptimizerAdam"]
