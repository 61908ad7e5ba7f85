"""LSTM layers."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.recurrent import RecurrentLayer
from tremula.frontends.tensorflow.ops import recurrent
from tremula.frontends.tensorflow.stock_keras import keras


class PopnnLSTM(RecurrentLayer):
    """An LSTM. Its weights are those of `keras.layers.LSTM`.

    Arguments that are not described in `RecurrentLayer`: `unit_forget_bias` starts the bias of the forget gate at 1;
    `use_bias`, regularizers, constraints, `recurrent_dropout`, `implementation`, `go_backwards` and `unroll` are there
    because the stock layer has them, and only their defaults are supported.
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        dropout_seed: Any = None,
        recurrent_dropout: float = 0.0,
        implementation: int = 2,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        partials_dtype: Any = tf.float32,
        seed: int | None = None,
        time_major: bool = False,
        options: dict[str, Any] | None = None,
        options_bwd: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not use_bias:
            raise ValueError("PopnnLSTM does not support use_bias=False: it always has biases.")
        self._refuse(
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            recurrent_dropout=recurrent_dropout,
            implementation=implementation if implementation not in (1, 2) else None,
            go_backwards=go_backwards,
            unroll=unroll,
        )
        super().__init__(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            dropout=dropout,
            dropout_seed=dropout_seed,
            return_sequences=return_sequences,
            return_state=return_state,
            stateful=stateful,
            seed=seed,
            partials_dtype=partials_dtype,
            time_major=time_major,
            options=options,
            options_bwd=options_bwd,
            **kwargs,
        )
        self.unit_forget_bias = unit_forget_bias

    def get_bias(self) -> Any:
        """Make the biases."""
        if not self.unit_forget_bias:
            return super().get_bias()
        units = self._num_units

        def initializer(shape: Any, *args: Any, **kwargs: Any) -> Any:
            rest = self._bias_initializer
            parts = [
                rest([units], *args, **kwargs),
                keras.initializers.Ones()([units], *args, **kwargs),
                rest([2 * units], *args, **kwargs),
            ]
            return tf.concat(parts, 0)

        return self.add_weight(name="biases", shape=self.canonical_bias_shapes, initializer=initializer)

    def state_shape(self, batch_size: int) -> tuple[list[int], list[int]]:
        """The shapes of the hidden state and of the cell state."""
        return [batch_size, self._num_units], [batch_size, self._num_units]

    def _run(self, inputs: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        h, c = states
        outputs, h, c = recurrent.lstm(
            inputs,
            self._combined_kernel(),
            tf.reshape(self.biases, [self._gates, self._num_units]),
            h,
            c,
            activation=self._activation,
            recurrent_activation=self._recurrent_activation,
            **self._planning(),
        )
        return outputs, [h, c]

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {**super().get_config(), "unit_forget_bias": self.unit_forget_bias}


LSTM = PopnnLSTM
