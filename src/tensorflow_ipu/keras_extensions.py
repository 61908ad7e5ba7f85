"""How a strategy extends Keras models."""

from tremula.frontends.tensorflow.keras.registry import KerasExtensions

__all__ = ["KerasExtensions"]
