"""BERT with the heads of pre-training or question answering, or none."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.python import ipu

from ipu_tensorflow_addons.keras.layers import Dropout, Embedding, LayerNormalization

from ..models.bert import SIZES
from .network import Network, compute_dtype, cross_entropy


class Embeddings(layers.Layer):
    """Words, positions and segments, added and normalised."""

    def __init__(self, hidden: int, vocabulary: int, positions: int, dropout: float, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.hidden, self.length = hidden, positions
        self.words = Embedding(vocabulary, hidden, name="words")
        self.segments = Embedding(2, hidden, name="segments")
        self.norm = LayerNormalization(epsilon=1e-5, name="norm")
        self.dropout = Dropout(dropout, name="dropout")

    def build(self, shape: Any) -> None:
        self.positions = self.add_weight("positions", (self.length, self.hidden))

    def call(self, given: Any) -> Any:
        tokens, segments = given
        places = self.positions[: tokens.shape[1]]
        return self.dropout(self.norm(self.words(tokens) + places + self.segments(segments)))


class Attention(layers.Layer):
    """Self-attention of several heads. One product makes query, key and value."""

    def __init__(self, hidden: int, heads: int, dropout: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.heads = heads
        self.query_key_value = layers.Dense(3 * hidden, name="query_key_value")
        self.result = layers.Dense(hidden, name="output")
        self.dropout = Dropout(dropout, name="dropout") if dropout else None

    def call(self, x: Any, mask: Any) -> Any:
        _, length, hidden = x.shape
        width = hidden // self.heads
        parts = tf.reshape(self.query_key_value(x), (-1, length, 3, self.heads, width))
        query, key, value = (tf.transpose(part, (0, 2, 1, 3)) for part in tf.unstack(parts, axis=2))
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / math.sqrt(width) + mask)
        if self.dropout is not None:
            weights = self.dropout(weights)
        context = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))
        return self.result(tf.reshape(context, (-1, length, hidden)))


class EncoderLayer(layers.Layer):
    """Attention and feed-forward with residuals, the norm after each."""

    def __init__(
        self, hidden: int, heads: int, *, dropout: float, attention_dropout: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.attention = Attention(hidden, heads, attention_dropout, name="attention")
        self.attention_norm = LayerNormalization(epsilon=1e-5, name="attention_norm")
        self.inner = layers.Dense(4 * hidden, activation=ipu.nn_ops.gelu, name="inner")
        self.outer = layers.Dense(hidden, name="outer")
        self.feed_forward_norm = LayerNormalization(epsilon=1e-5, name="feed_forward_norm")
        self.dropouts = [Dropout(dropout, name=f"dropout_{number}") for number in range(2)]

    def call(self, given: Any) -> Any:
        x, mask = given
        x = self.attention_norm(x + self.dropouts[0](self.attention(x, mask)))
        return self.feed_forward_norm(x + self.dropouts[1](self.outer(self.inner(x))))


class PretrainingHead(layers.Layer):
    """Words at the masked positions (by the table of words itself) and whether the second sentence follows."""

    def __init__(self, hidden: int, vocabulary: int, embeddings: Embeddings, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.vocabulary = vocabulary
        # a layer that is not tracked a second time
        self.table = lambda: embeddings.words.embeddings
        self.pooler = layers.Dense(hidden, activation="tanh", name="pooler")
        self.follows = layers.Dense(2, name="follows")
        self.transform = layers.Dense(hidden, activation=ipu.nn_ops.gelu, name="transform")
        self.norm = LayerNormalization(epsilon=1e-5, name="norm")

    def build(self, shape: Any) -> None:
        self.bias = self.add_weight("bias", (self.vocabulary,), initializer="zeros")

    def call(self, given: Any) -> Any:
        x, masked = given
        follows = self.follows(self.pooler(x[:, 0]))
        chosen = self.norm(self.transform(tf.gather(x, masked, batch_dims=1)))
        # one product for all samples
        rows = tf.reshape(chosen, (-1, chosen.shape[-1]))
        words = tf.matmul(rows, self.table(), transpose_b=True) + self.bias
        return tf.reshape(words, (*masked.shape, self.vocabulary)), follows


def bert(
    batch: int,
    size: str = "base",
    sequence: int = 128,
    task: str = "pretraining",
    masked: int = 20,
    vocabulary: int = 30_522,
    layers: int | None = None,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
) -> Network:
    """BERT of a named size; the arguments are those of the torch version."""
    hidden, depth, heads = SIZES[size]
    tokens = tf.keras.Input((sequence,), batch, dtype=tf.int32, name="tokens")
    mask = tf.keras.Input((1, 1, sequence), batch, dtype=compute_dtype(), name="mask")
    segments = tf.keras.Input((sequence,), batch, dtype=tf.int32, name="segments")
    embeddings = Embeddings(hidden, vocabulary, max(512, sequence), dropout, name="embeddings")
    x = embeddings([tokens, segments])
    for number in range(depth if layers is None else layers):
        layer = EncoderLayer(
            hidden, heads, dropout=dropout, attention_dropout=attention_dropout, name=f"layers.{number}"
        )
        x = layer([x, mask])
    inputs = [tokens, mask, segments]
    if task == "encoder":
        return Network(tf.keras.Model(inputs, x), None)
    if task == "squad":
        ends = tf.unstack(tf.keras.layers.Dense(2, name="head")(x), axis=-1)
        return Network(tf.keras.Model(inputs, ends), [cross_entropy(), cross_entropy()])
    places = tf.keras.Input((masked,), batch, dtype=tf.int32, name="masked")
    head = PretrainingHead(hidden, vocabulary, embeddings, name="head", autocast=False)
    results = head([x, places])
    return Network(tf.keras.Model([*inputs, places], list(results)), [cross_entropy(), cross_entropy()])
