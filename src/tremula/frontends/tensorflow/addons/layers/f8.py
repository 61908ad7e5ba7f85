"""Layers that convert to 8 bit floats and back."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops.quarter_tensors import QuarterTensor, convert_from_f8, convert_to_f8
from tremula.frontends.tensorflow.stock_keras import keras


class ConvertToF8(keras.layers.Layer):
    """Converts numbers to 8 bit floats."""

    def call(self, data: Any, metadata: Any, **kwargs: Any) -> list[Any]:
        """The bytes of the numbers, and the metadata that says what they mean.

        Args:
            data: the numbers.
            metadata: the format and the scale, as `create_metadata` gives them.
            kwargs: not used.
        """
        converted = convert_to_f8(data, metadata)
        return [converted.data, converted.metadata]


class ConvertFromF8(keras.layers.Layer):
    """Converts 8 bit floats to a wider type.

    Args:
        dtype: the type of the results.
        kwargs: arguments of the Keras layer.
    """

    def __init__(self, dtype: Any = tf.half, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, **kwargs)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The numbers.

        Args:
            inputs: the two tensors that `ConvertToF8` gives.
            kwargs: not used.
        """
        return convert_from_f8(QuarterTensor(*inputs), dtype=self.dtype)
