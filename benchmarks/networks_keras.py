"""The networks of networks_torch.py in Keras, layer by layer the same.

Each function returns a functional model that is not compiled, the samples of a micro-batch, the loss and the optimizer.
Call it in the scope of an `IPUStrategy`. Where a convolution with strides is padded by "same", Keras pads the far end
and torch both: sizes and work are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.losses import MeanSquaredError, SparseCategoricalCrossentropy
from tensorflow.keras.optimizers import legacy as optimizers
from tensorflow.python import ipu

from ipu_tensorflow_addons.keras.layers import LSTM, Dropout, Embedding, LayerNormalization

#: model, samples of a micro-batch, loss, optimizer
Made = tuple[tf.keras.Model, int, Any, Any]


def mnist() -> Made:
    """The digits of the Keras labs."""
    inputs = x = tf.keras.Input((28, 28, 1))
    for width in (32, 64):
        x = layers.MaxPooling2D(2)(layers.Conv2D(width, 3, activation="relu")(x))
    outputs = layers.Dense(10)(layers.Dropout(0.5)(layers.Flatten()(x)))
    return tf.keras.Model(inputs, outputs), 64, _cross_entropy(), _sgd()


def resnet50() -> Made:
    """ResNet-50 with batch norms, its strides in the 3x3 convolutions."""
    inputs = tf.keras.Input((224, 224, 3))
    x = layers.MaxPooling2D(3, 2, "same")(layers.ReLU()(_normed(inputs, 64, 7, 2)))
    for stage, (blocks, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True)):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = layers.ReLU()(_normed(x, width, 1))
            y = layers.ReLU()(_normed(y, width, 3, stride))
            y = _normed(y, 4 * width, 1)
            x = layers.ReLU()(layers.Add()([y, x if block else _normed(x, 4 * width, 1, stride)]))
    outputs = layers.Dense(1000)(layers.GlobalAveragePooling2D()(x))
    return tf.keras.Model(inputs, outputs), 4, _cross_entropy(), _momentum()


def _normed(x: Any, width: int, kernel: int, stride: int = 1) -> Any:
    x = layers.Conv2D(width, kernel, stride, "same", use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


class Positions(layers.Layer):
    """Adds a learned vector for each place of a sequence."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight("table", (512, shape[-1]))

    def call(self, x: Any) -> Any:
        return x + self.table[: x.shape[1]]


class Attention(layers.Layer):
    """Self-attention of several heads. One product makes query, key and value."""

    def __init__(self, hidden: int, heads: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.heads = heads
        self.query_key_value = layers.Dense(3 * hidden)
        self.result = layers.Dense(hidden)

    def call(self, x: Any, mask: Any) -> Any:
        _, length, hidden = x.shape
        width = hidden // self.heads
        parts = tf.reshape(self.query_key_value(x), (-1, length, 3, self.heads, width))
        query, key, value = (tf.transpose(part, (0, 2, 1, 3)) for part in tf.unstack(parts, axis=2))
        scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(width) + mask
        context = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), (0, 2, 1, 3))
        return self.result(tf.reshape(context, (-1, length, hidden)))


def bert() -> Made:
    """BERT-base on 128 tokens that finds where an answer starts and ends."""
    hidden, length = 768, 128
    tokens = tf.keras.Input((length,), 2, dtype=tf.int32, name="tokens")
    mask = tf.keras.Input((1, 1, length), 2, name="mask")
    segments = tf.keras.Input((length,), 2, dtype=tf.int32, name="segments")
    words = Positions(name="positions")(Embedding(30_522, hidden, name="words")(tokens))
    x = layers.Add()([words, Embedding(2, hidden, name="segment")(segments)])
    x = Dropout(0.1)(_layer_norm(x))
    for _ in range(12):
        y = Attention(hidden, 12)(x, mask)
        x = _layer_norm(layers.Add()([x, Dropout(0.1)(y)]))
        y = layers.Dense(4 * hidden, activation=ipu.nn_ops.gelu)(x)
        x = _layer_norm(layers.Add()([x, Dropout(0.1)(layers.Dense(hidden)(y))]))
    starts, ends = tf.unstack(layers.Dense(2, name="head")(x), axis=-1)
    model = tf.keras.Model([tokens, mask, segments], [starts, ends])
    return model, 2, [_cross_entropy(), _cross_entropy()], _adam()


def _layer_norm(x: Any) -> Any:
    return LayerNormalization(epsilon=1e-5)(x)


def unet() -> Made:
    """The U-Net of 2015 on 572 x 572 pixels."""
    inputs = x = tf.keras.Input((572, 572, 1))
    kept = []
    for width in (64, 128, 256, 512):
        kept.append(_double(x, width))
        x = layers.MaxPooling2D(2)(kept[-1])
    x = layers.Dropout(0.5)(_double(x, 1024))
    for width in (512, 256, 128, 64):
        x = layers.Conv2DTranspose(width, 2, 2)(x)
        beside = kept.pop()
        edge = beside.shape[1] - x.shape[1]
        sides = (edge // 2, edge - edge // 2)
        x = _double(layers.Concatenate()([layers.Cropping2D((sides, sides))(beside), x]), width)
    return tf.keras.Model(inputs, layers.Conv2D(2, 1)(x)), 1, _cross_entropy(), _adam()


def _double(x: Any, width: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(width, 3, activation="relu")(x)
    return x


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
    return tf.keras.Model(inputs, outputs), 32, _cross_entropy(), _adam()


NETWORKS: dict[str, Callable[[], Made]] = {
    each.__name__: each for each in (mnist, resnet50, bert, unet, cosmoflow, lstm)
}


def _cross_entropy() -> Any:
    return SparseCategoricalCrossentropy(from_logits=True)


def _sgd() -> Any:
    return optimizers.SGD(0.01)


def _momentum() -> Any:
    return optimizers.SGD(0.01, momentum=0.9)


def _adam() -> Any:
    return optimizers.Adam(0.001, epsilon=1e-8)
