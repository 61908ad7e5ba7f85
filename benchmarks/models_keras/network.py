"""What the networks share: a model with its losses, inputs of eight bits, cross entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.losses import SparseCategoricalCrossentropy


@dataclass(frozen=True)
class Network:
    """A functional model that is not compiled, and the loss of its results."""

    model: tf.keras.Model
    #: one, or a list with one for each result
    loss: Any


class Normalised(layers.Layer):
    """Pixels of eight bits, normalised on the device."""

    def call(self, images: Any) -> Any:
        return (tf.cast(images, self.compute_dtype) - 120.0) * 0.0172


def images(batch: int, size: int, *, eight_bit: bool) -> tuple[Any, Any]:
    """An input of square images, and what the first layer gets of it."""
    if not eight_bit:
        given = tf.keras.Input((size, size, 3), batch, dtype=compute_dtype(), name="images")
        return given, given
    given = tf.keras.Input((size, size, 3), batch, dtype=tf.uint8, name="images")
    return given, Normalised(name="normalised", autocast=False)(given)


def classifier(inputs: Any, outputs: Any) -> Network:
    """A model whose result is a class."""
    return Network(tf.keras.Model(inputs, outputs), cross_entropy())


def cross_entropy() -> Any:
    """Of numbers that a softmax makes probabilities of, with the number of the right class."""
    return SparseCategoricalCrossentropy(from_logits=True)


def compute_dtype() -> str:
    """The type that the global policy computes in, and that the host sends."""
    found: str = tf.keras.mixed_precision.global_policy().compute_dtype
    return found
