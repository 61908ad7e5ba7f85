"""Embeddings."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.base import IPULayer, initializer_config
from tremula.frontends.tensorflow.ops.embeddings import embedding_lookup
from tremula.frontends.tensorflow.stock_keras import keras


class Embedding(IPULayer):
    """Rows of a table of weights, by their indices.

    Args:
        input_dim: how many rows the table has.
        output_dim: how long a row is.
        embeddings_initializer: the initializer of the table.
        embeddings_regularizer: not supported.
        activity_regularizer: not supported.
        embeddings_constraint: not supported.
        mask_zero: not supported.
        input_length: not supported.
        serialization_factor: into how many parts the lookup is split to need less memory; it has to divide `input_dim`.
        kwargs: arguments of the Keras layer.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: int | None = None,
        serialization_factor: int = 1,
        **kwargs: Any,
    ) -> None:
        # indices stay integers
        super().__init__(**{**kwargs, "autocast": False})
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.serialization_factor = serialization_factor
        self._check_unsupported(embeddings_regularizer, "embeddings_regularizer")
        self._check_unsupported(activity_regularizer, "activity_regularizer")
        self._check_unsupported(embeddings_constraint, "embeddings_constraint")
        self._check_unsupported(mask_zero, "mask_zero")
        self._check_unsupported(input_length, "input_length")

    def build(self, input_shape: Any) -> None:
        """Make the table.

        Raises:
            ValueError: the indices are not a matrix.
        """
        rank = tf.TensorShape(input_shape).rank
        if rank != 2:
            raise ValueError(
                f"The input shape should be a matrix [batch, indices], but it is {tuple(input_shape)}. Reshape the "
                "indices, or use keras.layers.Embedding."
            )
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
        )
        self.built = True

    def call(self, inputs: Any, inputs_are_sorted: bool = False, training: Any = None) -> Any:
        """The rows at `inputs`, `[batch, indices, output_dim]`.

        Args:
            inputs: integer indices, `[batch, indices]`.
            inputs_are_sorted: the indices ascend, which helps the device.
            training: not used.
        """
        return embedding_lookup(
            self.embeddings,
            ids=inputs,
            name=self.name,
            serialization_factor=self.serialization_factor,
            indices_are_sorted=inputs_are_sorted,
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the rows."""
        return tf.TensorShape(input_shape).concatenate(self.output_dim)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        config = super().get_config()
        config.pop("autocast", None)
        return {
            **config,
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "embeddings_initializer": initializer_config(self.embeddings_initializer),
            "serialization_factor": self.serialization_factor,
        }
