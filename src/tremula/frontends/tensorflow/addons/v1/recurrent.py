"""What the recurrent layers of TensorFlow 1 style share. Sequences are time-major: `[time, batch, features]`."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons import planning
from tremula.frontends.tensorflow.ops import activations
from tremula.frontends.tensorflow.static_shape import static_size


class RecurrentLayer(tf.compat.v1.layers.Layer):
    """A layer with one kernel for inputs and state, `[features + units, gates * units]`.

    Args:
        num_units: the size of the output and of the state.
        dtype: float16 or float32.
        partials_dtype: recorded for the chip model: the type of partial sums.
        seed: the seed of the initializer of the kernel when that is left out.
        weights_initializer: the initializer of the kernel; None is Glorot uniform.
        bias_initializer: the initializer of the biases; None is zeros.
        activation: the activation, by its name or as a function of TensorFlow or Keras.
        recurrent_activation: that of the gates.
        return_state: return the last state as well.
        name: the name of the layer.
        options: recorded for the chip model: options of the forward pass.
        options_bwd: recorded for the chip model: options of the backward pass.

    Raises:
        ValueError: the layer does not have such a data type.
    """

    _gates: ClassVar[int]

    def __init__(
        self,
        num_units: int,
        dtype: Any = tf.float32,
        partials_dtype: Any = tf.float32,
        seed: int | None = None,
        weights_initializer: Any = None,
        bias_initializer: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        return_state: bool = True,
        name: str | None = None,
        options: dict[str, Any] | None = None,
        options_bwd: dict[str, Any] | None = None,
    ) -> None:
        dtype = tf.as_dtype(dtype)
        if dtype not in (tf.float16, tf.float32):
            raise ValueError(f"{type(self).__name__} computes in float16 or float32, not in {dtype.name}.")
        super().__init__(dtype=dtype, name=name)
        self._partials_dtype = tf.as_dtype(partials_dtype)
        self._num_units = num_units
        self._weights_initializer = weights_initializer
        self._bias_initializer = bias_initializer
        self._seed = seed
        self._activation = activations.name_of(activation)
        self._recurrent_activation = activations.name_of(recurrent_activation)
        self._return_state = return_state
        self._options = dict(options or {})
        self._options_bwd = dict(options_bwd or {})
        self._input_size: int | None = None

    @property
    def num_layers(self) -> int:
        """How many layers there are: one."""
        return 1

    @property
    def num_units(self) -> int:
        """The size of the output and of the state."""
        return self._num_units

    @property
    def input_size(self) -> int:
        """How many features the inputs have.

        Raises:
            ValueError: the layer is not built.
        """
        if not self._input_size:
            raise ValueError(f"The input size of {self.name} is unknown: call the layer, or build it, first.")
        return self._input_size

    @property
    def saveable(self) -> bool:
        """Whether the layer converts its weights when it is saved: it does not."""
        return False

    @property
    def canonical_weight_shape(self) -> list[int]:
        """The shape of the kernel."""
        return [self.input_size + self._num_units, self._num_units * self._gates]

    @property
    def canonical_bias_shapes(self) -> list[int]:
        """The shape of the biases."""
        return [self._gates, self._num_units]

    def build(self, input_shape: Any) -> None:
        """Make the weights.

        Raises:
            ValueError: the inputs do not have three dimensions, or the last is unknown.
        """
        shape = tf.TensorShape(input_shape)
        if shape.rank != 3 or shape[-1] is None:
            raise ValueError(
                f"{type(self).__name__} needs inputs of three dimensions, the last one known, but they are {shape}."
            )
        self._input_size = int(shape[-1])
        self._add_weights()
        self.built = True

    def _add_weights(self) -> None:
        kernel = self._weights_initializer
        bias = self._bias_initializer
        self.kernel = self.add_weight(
            "kernel",
            shape=self.canonical_weight_shape,
            initializer=tf.compat.v1.glorot_uniform_initializer(self._seed) if kernel is None else kernel,
        )
        self.biases = self.add_weight(
            "biases",
            shape=self.canonical_bias_shapes,
            initializer=tf.compat.v1.zeros_initializer() if bias is None else bias,
        )

    def _zeros(self, inputs: Any) -> Any:
        zeros = tf.zeros([tf.shape(inputs)[1], self._num_units], inputs.dtype)
        zeros.set_shape([static_size(inputs, 1), self._num_units])
        return zeros

    def _settings(self, **facts: Any) -> dict[str, Any]:
        """What the ops take: activations, and facts for the chip model."""
        planning.check(self._options)
        planning.check(self._options_bwd)
        return {
            "activation": self._activation,
            "recurrent_activation": self._recurrent_activation,
            "partials_dtype": self._partials_dtype,
            "options": self._options or None,
            "options_bwd": self._options_bwd or None,
            **facts,
        }
