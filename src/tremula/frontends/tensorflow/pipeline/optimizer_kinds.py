"""Which kind of optimizer an object is: TensorFlow 1's, or Keras' (both the old `OptimizerV2` and the present one)."""

from __future__ import annotations

import sys
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import keras

#: modules of TensorFlow that have an `OptimizerV2` of their own; looked at only if a program has imported them
_OLD_KERAS = "tensorflow.python.keras.optimizer_v2.optimizer_v2"


def is_tensorflow_1(optimizer: Any) -> bool:
    """Whether it is a `tf.compat.v1.train.Optimizer`."""
    return isinstance(optimizer, tf.compat.v1.train.Optimizer)


def is_keras(optimizer: Any) -> bool:
    """Whether it is an optimizer of Keras."""
    kinds = [keras.optimizers.Optimizer, keras.optimizers.legacy.Optimizer]
    if _OLD_KERAS in sys.modules:
        kinds.append(sys.modules[_OLD_KERAS].OptimizerV2)
    return isinstance(optimizer, tuple(kinds))


def keras_gradients(optimizer: Any, loss: Any, variables: list[Any]) -> list[Any]:
    """The gradients of `loss` in the graph that is being built, as a Keras optimizer computes them."""
    if hasattr(optimizer, "get_gradients"):
        found: list[Any] = optimizer.get_gradients(loss, variables)
        return found
    if hasattr(optimizer, "get_scaled_loss"):
        scaled = tf.gradients(optimizer.get_scaled_loss(loss), variables)
        return list(optimizer.get_unscaled_gradients(scaled))
    return list(tf.gradients(loss, variables))
