"""The small networks of the Keras tutorials."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.keras import layers

from .network import Network, classifier


def keras_mnist(batch: int) -> Network:
    """Handwritten digits: 34,826 parameters."""
    inputs = x = tf.keras.Input((28, 28, 1), batch)
    for width in (32, 64):
        x = layers.MaxPooling2D(2)(layers.Conv2D(width, 3, activation="relu")(x))
    return classifier(inputs, layers.Dense(10)(layers.Dropout(0.5)(layers.Flatten()(x))))


def keras_cifar(batch: int) -> Network:
    """Photographs of ten kinds: 1,250,858 parameters."""
    inputs = x = tf.keras.Input((32, 32, 3), batch)
    for width in (32, 64):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(width, 3, activation="relu")(x)
        x = layers.Dropout(0.25)(layers.MaxPooling2D(2)(x))
    x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(layers.Flatten()(x)))
    return classifier(inputs, layers.Dense(10)(x))
