"""Attention over padded sequences, whose embeddings are computed without the padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.base import fresh_initializer, initializer_config
from tremula.frontends.tensorflow.addons.layers.dropout import Dropout
from tremula.frontends.tensorflow.addons.layers.normalization import LayerNormalization
from tremula.frontends.tensorflow.static_shape import static_size
from tremula.frontends.tensorflow.stock_keras import keras


class EffectiveTransformer(keras.layers.Layer):
    """Attention with several heads between two batches of padded sequences.

    Queries come from the elements of the `from` sequences, keys and values from those of the `to` sequences. Padding
    has zeros as its embedding; its keys take part in the softmax.

    Args:
        output_layer_size: the size of the output.
        max_batch_size: recorded for the chip model: how many sequences the device unpacks at once, at most.
        use_scale: learn a factor of the scores.
        num_attention_heads: how many heads there are.
        attention_head_size: the size of a head.
        sequences_per_iter: recorded for the chip model: how many full sequences the device packs others into.
        qkv_activation: the activation of queries, keys and values.
        attention_dropout_prob: dropout of the attention distribution; None is without.
        output_activation: the activation of the output.
        output_dropout_prob: dropout of the output; None is without.
        layer_norm_output: whether the output is normalised.
        embedding_initializer: the initializer of the weights of queries, keys and values.
        embedding_bias_initializer: the initializer of their biases.
        output_initializer: the initializer of the weights of the output.
        output_bias_initializer: the initializer of its bias.
        kwargs: arguments of the Keras layer.

    Raises:
        ValueError: `sequences_per_iter` is greater than `max_batch_size`.
    """

    def __init__(
        self,
        output_layer_size: int,
        max_batch_size: int,
        use_scale: bool = False,
        num_attention_heads: int = 1,
        attention_head_size: int = 1,
        sequences_per_iter: int = 1,
        qkv_activation: Any = None,
        attention_dropout_prob: float | None = None,
        output_activation: Any = None,
        output_dropout_prob: float | None = None,
        layer_norm_output: bool = True,
        embedding_initializer: Any = "glorot_uniform",
        embedding_bias_initializer: Any = "zeros",
        output_initializer: Any = "glorot_uniform",
        output_bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if sequences_per_iter > max_batch_size:
            raise ValueError(
                f"sequences_per_iter is {sequences_per_iter}, but it can be at most max_batch_size, {max_batch_size}."
            )
        self.output_layer_size = output_layer_size
        self.max_batch_size = max_batch_size
        self.use_scale = use_scale
        self.num_attention_heads = num_attention_heads
        self.attention_head_size = attention_head_size
        self.sequences_per_iter = sequences_per_iter
        self.qkv_activation = keras.activations.get(qkv_activation)
        self.attention_dropout_prob = attention_dropout_prob
        self.output_activation = keras.activations.get(output_activation)
        self.output_dropout_prob = output_dropout_prob
        self.layer_norm_output = layer_norm_output
        self.embedding_initializer = keras.initializers.get(embedding_initializer)
        self.embedding_bias_initializer = keras.initializers.get(embedding_bias_initializer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.output_bias_initializer = keras.initializers.get(output_bias_initializer)

    def build(self, input_shapes: Sequence[Any]) -> None:
        """Make the layers.

        Raises:
            ValueError: there are not four or five inputs.
        """
        _check_count(input_shapes)
        self._query, self._key, self._value = (
            keras.layers.Dense(
                self.num_attention_heads * self.attention_head_size,
                activation=self.qkv_activation,
                kernel_initializer=fresh_initializer(self.embedding_initializer),
                bias_initializer=self.embedding_bias_initializer,
                dtype=self._dtype_policy,
                name=name,
            )
            for name in ("query_layer", "key_layer", "value_layer")
        )
        self._output_layer = keras.layers.Dense(
            self.output_layer_size,
            activation=self.output_activation,
            kernel_initializer=self.output_initializer,
            bias_initializer=self.output_bias_initializer,
            dtype=self._dtype_policy,
            name="output_layer",
        )
        self._scale = self.add_weight(name="scale", shape=[1], initializer="ones") if self.use_scale else None
        self._attention_dropout = (
            None if self.attention_dropout_prob is None else Dropout(self.attention_dropout_prob)
        )
        self._output_dropout = None if self.output_dropout_prob is None else Dropout(self.output_dropout_prob)
        self._output_norm = LayerNormalization(dtype=self._dtype_policy) if self.layer_norm_output else None
        super().build(input_shapes)

    def call(self, inputs: Sequence[Any], training: Any = True) -> tuple[Any, Any]:
        """Attend.

        Args:
            inputs: the `from` sequences `[batch, length]`, their lengths `[batch]` or `[batch, 1]`, the `to` sequences,
                their lengths, and optionally which heads of which sequences count, `[batch, heads]`.
            training: whether dropout is applied.

        Returns:
            The output `[batch, output_layer_size]` and the context `[batch, length, heads, head size]`.

        Raises:
            ValueError: the inputs do not fit each other.
        """
        _check_count(inputs)
        queries, query_lengths, keys, key_lengths = (tf.convert_to_tensor(tensor) for tensor in inputs[:4])
        mask = self._checked_mask(
            queries, query_lengths, keys, key_lengths, inputs[4] if len(inputs) == 5 else None
        )
        q = self._embedded(queries, query_lengths, self._query)
        k = self._embedded(keys, key_lengths, self._key)
        v = self._embedded(keys, key_lengths, self._value)
        scores = tf.einsum("bqhs,bkhs->bhqk", q, k)
        if self._scale is not None:
            scores *= tf.cast(self._scale, scores.dtype)
        attention = tf.nn.softmax(scores)
        if self._attention_dropout is not None:
            attention = self._attention_dropout(attention, training=training)
        context = tf.einsum("bhqk,bkhs->bqhs", attention, v)
        if mask is not None:
            context *= tf.cast(mask, context.dtype)[:, tf.newaxis, :, tf.newaxis]
        output = self._output_layer(tf.reshape(context, [static_size(context, 0), -1]))
        if self._output_dropout is not None:
            output = self._output_dropout(output, training=training)
        if self._output_norm is not None:
            output = self._output_norm(output, training=training)
        return output, context

    def _checked_mask(self, queries: Any, query_lengths: Any, keys: Any, key_lengths: Any, mask: Any) -> Any:
        """The mask of heads as a tensor, or None; an error if the inputs do not fit each other."""
        if queries.shape.rank != keys.shape.rank:
            raise ValueError(
                f"from and to sequences must be equal rank, but are {queries.shape} and {keys.shape}."
            )
        if static_size(queries, 0) != static_size(keys, 0):
            raise ValueError(
                f"from and to must contain an equal number of sequences, not {static_size(queries, 0)} and "
                f"{static_size(keys, 0)}."
            )
        if (
            static_size(query_lengths, 0) != static_size(queries, 0)
            or query_lengths.shape != key_lengths.shape
        ):
            raise ValueError(
                f"Both lengths must have lengths equal to the number of sequences provided, {static_size(queries, 0)}, "
                f"but their shapes are {query_lengths.shape} and {key_lengths.shape}."
            )
        if queries.dtype != keys.dtype:
            raise ValueError(
                f"from_sequences and to_sequences must be equal types, not {queries.dtype.name}, {keys.dtype.name}."
            )
        if mask is None:
            return None
        mask = tf.convert_to_tensor(mask)
        expected = [static_size(queries, 0), self.num_attention_heads]
        if mask.shape.as_list() != expected:
            raise ValueError(
                f"q_mask must have shape [sequences, heads], {expected}, but it is {mask.shape}."
            )
        return mask

    def _embedded(self, sequences: Any, lengths: Any, layer: Any) -> Any:
        """Embeddings `[batch, length, heads, head size]` of the elements; zeros where there is padding."""
        lengths = tf.reshape(lengths, [-1])
        count, width = sequences.shape
        packed = self._unpad(tf.cast(sequences, self.compute_dtype), lengths, count)
        embedded = layer(tf.reshape(packed, [-1, 1]))
        first = tf.cumsum(lengths, exclusive=True)
        places = first[:, tf.newaxis] + tf.range(width, dtype=lengths.dtype)
        inside = tf.sequence_mask(lengths, width)
        unpacked = tf.gather(embedded, tf.where(inside, places, tf.zeros_like(places)))
        unpacked *= tf.cast(inside, unpacked.dtype)[:, :, tf.newaxis]
        return tf.reshape(unpacked, [count, width, self.num_attention_heads, self.attention_head_size])

    def _unpad(self, sequences: Any, sequence_lengths: Any, slices_per_iter: int) -> Any:
        """The elements of the first `slices_per_iter` sequences, one after another in as many rows as there are."""
        sequences, lengths = tf.convert_to_tensor(sequences), tf.convert_to_tensor(sequence_lengths)
        count, width = sequences.shape
        inside = tf.sequence_mask(lengths[:slices_per_iter], width)
        elements = tf.boolean_mask(sequences[:slices_per_iter], inside)
        missing = count * width - tf.shape(elements)[0]
        return tf.reshape(tf.pad(elements, [[0, missing]]), [count, width])

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "output_layer_size": self.output_layer_size,
            "max_batch_size": self.max_batch_size,
            "use_scale": self.use_scale,
            "num_attention_heads": self.num_attention_heads,
            "attention_head_size": self.attention_head_size,
            "sequences_per_iter": self.sequences_per_iter,
            "qkv_activation": keras.activations.serialize(self.qkv_activation),
            "attention_dropout_prob": self.attention_dropout_prob,
            "output_activation": keras.activations.serialize(self.output_activation),
            "output_dropout_prob": self.output_dropout_prob,
            "layer_norm_output": self.layer_norm_output,
            "embedding_initializer": initializer_config(self.embedding_initializer),
            "embedding_bias_initializer": initializer_config(self.embedding_bias_initializer),
            "output_initializer": initializer_config(self.output_initializer),
            "output_bias_initializer": initializer_config(self.output_bias_initializer),
        }


def _check_count(inputs: Sequence[Any]) -> None:
    if len(inputs) not in (4, 5):
        raise ValueError(
            f"EffectiveTransformer takes from sequences, their lengths, to sequences, their lengths, and optionally a "
            f"mask of heads: four or five inputs, not {len(inputs)}."
        )
