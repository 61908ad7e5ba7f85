"""Dense layers: one whose product is made in parts, and one that takes 8 bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.base import initializer_config
from tremula.frontends.tensorflow.ops.products import serialized_matmul
from tremula.frontends.tensorflow.ops.quarter import Format, create_metadata
from tremula.frontends.tensorflow.ops.quarter_tensors import QuarterTensor, f8_matmul
from tremula.frontends.tensorflow.stock_keras import keras

#: the byte that is not a number in either format
NOT_A_NUMBER = 0x80

#: names of dimensions of this layer -> those of `serialized_matmul`
_DIMENSIONS = {
    "input_columns": "a_columns",
    "input_rows_kernel_columns": "a_rows_b_columns",
    "kernel_rows": "b_rows",
}


class SerialDense(keras.layers.Dense):
    """A dense layer whose matrix product is made in parts, one after another, to need less memory.

    Args:
        units: the size of the output.
        serialization_factor: how many parts there are; it has to divide the dimension.
        serialization_dimension: which dimension is split: "input_columns", "input_rows_kernel_columns" or
            "kernel_rows".
        activation: the activation function.
        use_bias: whether a bias is added.
        kernel_initializer: the initializer of the weights.
        bias_initializer: the initializer of the bias.
        kernel_regularizer: the regularizer of the weights.
        bias_regularizer: the regularizer of the bias.
        activity_regularizer: the regularizer of the output.
        kernel_constraint: the constraint of the weights.
        bias_constraint: the constraint of the bias.
        kwargs: arguments of the Keras layer.
    """

    def __init__(
        self,
        units: int,
        serialization_factor: int,
        serialization_dimension: str,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.serialization_factor = int(serialization_factor)
        self.serialization_dimension = serialization_dimension

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The product with the weights, the bias, and the activation.

        Raises:
            TypeError: the inputs are sparse.
            ValueError: the factor or the dimension is wrong.
        """
        if keras.backend.is_sparse(inputs):
            raise TypeError(
                "SerialDense cannot multiply sparse inputs: give a dense tensor, or use keras.layers.Dense."
            )
        if self.serialization_factor < 1:
            raise ValueError(
                f"serialization_factor is {self.serialization_factor}, but it has to be 1 or more."
            )
        dimension = _DIMENSIONS.get(self.serialization_dimension)
        if dimension is None:
            raise ValueError(
                f"Invalid serialization_dimension {self.serialization_dimension!r}: choose one of {list(_DIMENSIONS)}."
            )
        outputs = serialized_matmul(
            tf.cast(inputs, self.compute_dtype), self.kernel, self.serialization_factor, dimension
        )
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "serialization_factor": self.serialization_factor,
            "serialization_dimension": self.serialization_dimension,
        }


class Dense(keras.layers.Dense):
    """A dense layer that multiplies 8 bit floats when it gets them, and is `keras.layers.Dense` otherwise.

    What its weights are depends on what it is built for.

    Args:
        units: the size of the output.
        kernel_format: the format of the weights, for 8 bit floats.
        kernel_scale: the exponent that scales the weights, from -32 to 31.
        kernel_data_initializer: the initializer of the weights' bytes; None is random bytes that are numbers.
        kwargs: arguments of `keras.layers.Dense`.

    Raises:
        ValueError: the scale is out of its range.
    """

    def __init__(
        self,
        units: int,
        kernel_format: Any = Format.F143,
        kernel_scale: int = 0,
        kernel_data_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        if not -32 <= kernel_scale <= 31:
            raise ValueError(f"kernel_scale is {kernel_scale}, but it has to be between -32 and 31.")
        super().__init__(units, **kwargs)
        self.kernel_format = Format(kernel_format)
        self.kernel_scale = kernel_scale
        self.kernel_data_initializer = keras.initializers.get(kernel_data_initializer)
        self.input_spec = None

    def build(self, input_shape: Any) -> None:
        """Make the weights: of the layer's type, or bytes when the inputs are the two tensors of `ConvertToF8`.

        Raises:
            TypeError: the layer's type is not a float.
        """
        dtype = tf.as_dtype(self.dtype or keras.backend.floatx())
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"A Dense layer needs a floating point dtype, but it has {dtype.name}.")
        if not _is_pair(input_shape):
            super().build(input_shape)
            return
        rows = int(input_shape[0][-1])
        initializer = self.kernel_data_initializer
        if initializer is None:
            data = np.random.randint(0, 256, [rows, self.units])
            data[data == NOT_A_NUMBER] = 0
            initializer = keras.initializers.Constant(data)
        metadata = keras.initializers.Constant(int(create_metadata(self.kernel_format, self.kernel_scale)))
        self.kernel_data = self.add_weight(
            name="kernel_data",
            shape=[rows, self.units],
            initializer=initializer,
            dtype="uint8",
            trainable=True,
        )
        self.kernel_metadata = self.add_weight(
            name="kernel_metadata", shape=[], initializer=metadata, dtype="uint8", trainable=True
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype="float16",
                trainable=True,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The product with the weights, the bias, and the activation.

        Args:
            inputs: a tensor, or the two that `ConvertToF8` gives.
        """
        if not isinstance(inputs, (list, tuple)):
            return super().call(inputs)
        outputs = f8_matmul(
            lhs=QuarterTensor(*inputs), rhs=QuarterTensor(self.kernel_data, self.kernel_metadata)
        )
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, tf.cast(self.bias, outputs.dtype))
        return outputs if self.activation is None else self.activation(outputs)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "kernel_format": self.kernel_format.value,
            "kernel_scale": self.kernel_scale,
            "kernel_data_initializer": initializer_config(self.kernel_data_initializer),
        }


def _is_pair(shape: Any) -> bool:
    """Whether it is the shapes of two tensors, not one shape."""
    return (
        isinstance(shape, (list, tuple))
        and bool(shape)
        and isinstance(shape[0], (list, tuple, tf.TensorShape))
    )
