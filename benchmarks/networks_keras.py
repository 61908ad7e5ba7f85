"""The networks of networks_torch.py in Keras, layer by layer the same.

Each function returns a functional model that is not compiled, the samples of a micro-batch, the loss and the optimizer.
Call it in the scope of an `IPUStrategy`. Where a convolution with strides is padded by "same", Keras pads the far end
and torch both: sizes and work are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.losses import MeanSquaredError
from tensorflow.keras.optimizers import legacy as optimizers

from ipu_tensorflow_addons.keras.layers import LSTM, Embedding

from . import models_keras
from .models_keras.network import Network, cross_entropy

#: model, samples of a micro-batch, loss, optimizer
Made = tuple[tf.keras.Model, int, Any, Any]


def mnist() -> Made:
    """The digits of the Keras labs."""
    return _built(models_keras.keras_mnist(64), _sgd())


def resnet50() -> Made:
    """ResNet-50 with batch norms, its strides in the 3x3 convolutions."""
    return _built(models_keras.resnet(4), _momentum())


def bert() -> Made:
    """BERT-base on 128 tokens that finds where an answer starts and ends."""
    return _built(models_keras.bert(2, "base", 128, "squad"), _adam())


def unet() -> Made:
    """The U-Net of 2015 on 572 x 572 pixels."""
    return _built(models_keras.unet(1), _adam())


def cosmoflow() -> Made:
    """CosmoFlow on cubes of 64, in the size of Graphcore's example."""
    inputs = x = tf.keras.Input((64, 64, 64, 4))
    for level in range(5):
        x = layers.LeakyReLU(0.3)(layers.Conv3D(16 * 2**level, 2, padding="same")(x))
        x = layers.MaxPooling3D(2)(x)
    x = layers.Flatten()(x)
    for width in (128, 64):
        x = layers.Dropout(0.2)(layers.LeakyReLU(0.3)(layers.Dense(width)(x)))
    outputs = layers.Rescaling(1.2)(layers.Dense(4, activation="tanh")(x))
    return tf.keras.Model(inputs, outputs), 1, MeanSquaredError(), _momentum()


def lstm() -> Made:
    """An LSTM on texts of 80 words; two classes from its last state."""
    inputs = tf.keras.Input((80,), dtype=tf.int32)
    outputs = layers.Dense(2)(LSTM(128)(Embedding(20_000, 128)(inputs)))
    return tf.keras.Model(inputs, outputs), 32, cross_entropy(), _adam()


NETWORKS: dict[str, Callable[[], Made]] = {
    each.__name__: each for each in (mnist, resnet50, bert, unet, cosmoflow, lstm)
}


def _built(network: Network, optimizer: Any) -> Made:
    return network.model, int(network.model.inputs[0].shape[0]), network.loss, optimizer


def _sgd() -> Any:
    return optimizers.SGD(0.01)


def _momentum() -> Any:
    return optimizers.SGD(0.01, momentum=0.9)


def _adam() -> Any:
    return optimizers.Adam(0.001, epsilon=1e-8)
