"""RMSprop with automatic loss scaling."""

from tremula.frontends.tensorflow.keras.optimizers.als_rmsprop import ALSOptimizerRMSProp

__all__ = ["ALSOptimizerRMSProp"]
