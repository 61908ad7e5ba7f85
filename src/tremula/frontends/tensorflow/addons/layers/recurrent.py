"""What LSTM and GRU layers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons import planning
from tremula.frontends.tensorflow.addons.layers.base import IPULayer, initializer_config
from tremula.frontends.tensorflow.ops import activations, dropout
from tremula.frontends.tensorflow.static_shape import static_size
from tremula.frontends.tensorflow.stock_keras import internal, keras

ACCEPTED_ACTIVATIONS = ("tanh", "relu", "softmax", "sigmoid", "hard_sigmoid")
ACCEPTED_RECURRENT_ACTIVATIONS = ("tanh", "softmax", "sigmoid", "hard_sigmoid")

_control_flow = internal("utils.control_flow_util")


class RecurrentLayer(IPULayer):
    """What the two layers share: their weights, states and options.

    Args:
        units: the size of the output and of the state.
        activation: "tanh", "relu", "softmax", "sigmoid" or "hard_sigmoid", or one of these functions of Keras.
        recurrent_activation: the same, without "relu".
        kernel_initializer: the initializer of the weights for the inputs.
        recurrent_initializer: the initializer of the weights for the state.
        bias_initializer: the initializer of the biases.
        dropout: the part of the inputs that becomes zero in training; it is the same in all steps.
        dropout_seed: two integers that give the same dropout every time.
        return_sequences: return the outputs of all steps, not that of the last.
        return_state: return the last state as well.
        stateful: start from the last state of the call before.
        seed: the seed of the initializers that are left out.
        partials_dtype: recorded for the chip model: the type of partial sums.
        time_major: the first dimension is the time, not the batch.
        options: recorded for the chip model: options of the forward pass.
        options_bwd: recorded for the chip model: options of the backward pass.
        kwargs: arguments of the Keras layer.

    Raises:
        ValueError: the layer does not have such an activation or such a data type.
    """

    _gates: ClassVar[int]
    _states: ClassVar[int]

    def __init__(
        self,
        units: int,
        *,
        activation: Any,
        recurrent_activation: Any,
        kernel_initializer: Any,
        recurrent_initializer: Any,
        bias_initializer: Any,
        dropout: float,
        dropout_seed: Any,
        return_sequences: bool,
        return_state: bool,
        stateful: bool,
        seed: int | None,
        partials_dtype: Any,
        time_major: bool,
        options: dict[str, Any] | None,
        options_bwd: dict[str, Any] | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._activation = self._accepted(activation, ACCEPTED_ACTIVATIONS, "activation")
        self._recurrent_activation = self._accepted(
            recurrent_activation, ACCEPTED_RECURRENT_ACTIVATIONS, "recurrent_activation"
        )
        if tf.as_dtype(self.dtype or keras.backend.floatx()) not in (tf.float16, tf.float32):
            raise ValueError(
                f"{type(self).__name__} computes in float16 or float32, but its dtype is {self.dtype}."
            )
        initializers = keras.initializers
        self._kernel_initializer = initializers.get(
            initializers.GlorotUniform(seed) if kernel_initializer is None else kernel_initializer
        )
        self._recurrent_initializer = initializers.get(
            initializers.Orthogonal(seed=seed) if recurrent_initializer is None else recurrent_initializer
        )
        self._bias_initializer = initializers.get("zeros" if bias_initializer is None else bias_initializer)
        self._num_units = units
        self._dropout = dropout
        self._dropout_seed = dropout_seed
        self._return_sequences = return_sequences
        self._return_state = return_state
        self._stateful = stateful
        self._seed = seed
        self._partials_dtype = tf.as_dtype(partials_dtype)
        self._time_major = time_major
        self._options = dict(options or {})
        self._options_bwd = dict(options_bwd or {})
        self._input_size: int | None = None

    def _accepted(self, activation: Any, accepted: Sequence[str], argument: str) -> str:
        name = activations.name_of(activation)
        if name not in accepted:
            raise ValueError(
                f"{type(self).__name__} does not support {name!r} as {argument}: choose one of {', '.join(accepted)}."
            )
        return name

    def _refuse(self, **arguments: Any) -> None:
        """Refuse arguments of the stock layer that the device does not have.

        Raises:
            ValueError: one of them is given.
        """
        for name, value in arguments.items():
            if value:
                raise ValueError(
                    f"{type(self).__name__} does not support {name}={value!r}. Leave it out, or use the layer of Keras."
                )

    @property
    def num_units(self) -> int:
        """The size of the output and of the state."""
        return self._num_units

    @property
    def stateful(self) -> bool:
        """Whether a call starts from the last state of the call before."""
        return getattr(self, "_stateful", False)

    @stateful.setter
    def stateful(self, value: bool) -> None:
        self._stateful = value

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
    def canonical_weight_shape(self) -> list[int]:
        """The shape of both kernels together, as the device has them."""
        return [self.input_size + self._num_units, self._num_units * self._gates]

    @property
    def canonical_bias_shapes(self) -> list[int]:
        """The shape of the biases."""
        return [self._gates * self._num_units]

    def build(self, input_shape: Any) -> None:
        """Make the weights, and the states of a stateful layer.

        Raises:
            ValueError: the inputs do not have three dimensions, or the last is unknown.
        """
        if getattr(self, "built", False):
            return
        shape = tf.TensorShape(input_shape)
        if shape.rank != 3 or shape[-1] is None:
            raise ValueError(
                f"{type(self).__name__} needs inputs of three dimensions, the last one known, but they are {shape}."
            )
        self._input_size = int(shape[-1])
        columns = self._num_units * self._gates
        self.kernel = self.add_weight(
            name="kernel", shape=[self._input_size, columns], initializer=self._kernel_initializer
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=[self._num_units, columns], initializer=self._recurrent_initializer
        )
        self.biases = self.get_bias()
        if self._stateful:
            self._make_states(shape[1 if self._time_major else 0])
        self.built = True

    @tf.__internal__.tracking.no_automatic_dependency_tracking
    def _make_states(self, batch: int | None) -> None:
        if batch is None:
            raise ValueError(f"{self.name} is stateful, so the batch size of its inputs has to be known.")
        self.states = [
            keras.backend.zeros([batch, self._num_units], dtype=self.compute_dtype)
            for _ in range(self._states)
        ]

    def reset_states(self) -> None:
        """Set the states of a stateful layer to zero."""
        for state in self.states:
            keras.backend.set_value(state, tf.zeros(state.shape, state.dtype).numpy())

    def get_bias(self) -> Any:
        """Make the biases."""
        return self.add_weight(
            name="biases", shape=self.canonical_bias_shapes, initializer=self._bias_initializer
        )

    def _run(self, inputs: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        """The outputs `[time, batch, units]` and the last states."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        """Run over sequences.

        Args:
            inputs: `[batch, time, features]`, or `[time, batch, features]` with `time_major`.
            mask: not supported.
            training: whether dropout is applied.
            initial_state: the state to start from, instead of zeros or of the last state.

        Returns:
            The outputs, and with `return_state` the last state as well.

        Raises:
            ValueError: the inputs do not have three dimensions.
        """
        self._check_unsupported(mask, "mask", "call")
        dtype = tf.as_dtype(self.compute_dtype)
        inputs = tf.cast(inputs, dtype)
        if inputs.shape.rank != 3:
            raise ValueError(
                f"The inputs of {self.name} have three dimensions, but their shape is {inputs.shape}."
            )
        planning.check(self._options)
        planning.check(self._options_bwd)
        if not self._time_major:
            inputs = tf.transpose(inputs, [1, 0, 2])
        if initial_state is not None:
            states = list(initial_state) if self._states > 1 else tf.nest.flatten(initial_state)
        elif self._stateful:
            states = list(self.states)
        else:
            zeros = tf.zeros([tf.shape(inputs)[1], self._num_units], dtype)
            zeros.set_shape([static_size(inputs, 1), self._num_units])
            states = [zeros] * self._states
        if self._dropout > 0:
            inputs = self._dropped(inputs, training)
        outputs, states = self._run(inputs, [tf.cast(state, dtype) for state in states])
        if self._stateful:
            self.add_update([old.assign(new) for old, new in zip(self.states, states, strict=True)])
        if not self._return_sequences:
            outputs = states[0]
        elif not self._time_major:
            outputs = tf.transpose(outputs, [1, 0, 2])
        return (outputs, *states) if self._return_state else outputs

    def _dropped(self, inputs: Any, training: Any) -> Any:
        """The inputs with the same dropout in all steps, in training."""
        if training is None:
            training = keras.backend.learning_phase()

        def dropped() -> Any:
            name = f"{self.name}_dropout"
            mask = dropout.dropout(
                tf.ones_like(inputs[:1]), seed=self._dropout_seed, rate=self._dropout, name=name
            )
            return inputs * mask

        return _control_flow.smart_cond(training, dropped, lambda: tf.identity(inputs))

    def _combined_kernel(self) -> Any:
        return tf.concat([self.kernel, self.recurrent_kernel], 0)

    def _planning(self) -> dict[str, Any]:
        return {
            "partials_dtype": self._partials_dtype,
            "options": self._options or None,
            "options_bwd": self._options_bwd or None,
        }

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "units": self._num_units,
            "activation": self._activation,
            "recurrent_activation": self._recurrent_activation,
            "kernel_initializer": initializer_config(self._kernel_initializer),
            "recurrent_initializer": initializer_config(self._recurrent_initializer),
            "bias_initializer": initializer_config(self._bias_initializer),
            "dropout": self._dropout,
            "dropout_seed": self._dropout_seed,
            "return_sequences": self._return_sequences,
            "return_state": self._return_state,
            "stateful": self._stateful,
            "partials_dtype": self._partials_dtype,
            "seed": self._seed,
            "time_major": self._time_major,
            "options": self._options,
            "options_bwd": self._options_bwd,
        }
