"""Dropout with the device's random numbers."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import dropout
from tremula.frontends.tensorflow.stock_keras import internal, keras

_control_flow = internal("utils.control_flow_util")


class Dropout(keras.layers.Layer):
    """Sets a part of its input to zero in training and scales the rest up.

    Args:
        rate: the part that becomes zero.
        noise_shape: the shape of the mask, which is broadcast.
        seed: two integers that give the same mask every time.
        ref: recorded for the chip model: whether the mask of the forward pass is made again in the backward pass.
        kwargs: arguments of the Keras layer.
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: Any = None, **kwargs: Any) -> None:
        self.seed = seed
        self.rate = rate
        self.noise_shape = noise_shape
        self.ref = kwargs.pop("ref", True)
        super().__init__(**kwargs)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The input with dropout in training, and as it is otherwise."""
        if training is None:
            training = keras.backend.learning_phase()

        def dropped() -> Any:
            return dropout.dropout(
                inputs,
                seed=self.seed,
                rate=self.rate,
                noise_shape=self.noise_shape,
                ref=self.ref,
                name=self.name,
            )

        return _control_flow.smart_cond(training, dropped, lambda: tf.identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the input."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "rate": self.rate,
            "noise_shape": self.noise_shape,
            "seed": self.seed,
            "ref": self.ref,
        }
