"""GRU layers."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.recurrent import RecurrentLayer
from tremula.frontends.tensorflow.ops import recurrent


class PopnnGRU(RecurrentLayer):
    """A GRU. Its weights are those of `keras.layers.GRU`.

    Arguments that are not described in `RecurrentLayer`: `reset_after` applies the reset gate after the product with
    the recurrent weights, which then has a bias of its own; `use_bias`, regularizers, constraints, `recurrent_dropout`,
    `implementation`, `go_backwards` and `unroll` are there because the stock layer has them, and only their defaults
    are supported.
    """

    _gates = 3
    _states = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
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
        reset_after: bool = True,
        seed: int | None = None,
        partials_dtype: Any = tf.float32,
        time_major: bool = False,
        options: dict[str, Any] | None = None,
        options_bwd: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not use_bias:
            raise ValueError("PopnnGRU does not support use_bias=False: it always has biases.")
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
        self._reset_after = reset_after

    @property
    def canonical_bias_shapes(self) -> list[int]:
        """The shape of the biases."""
        both = [2] if self._reset_after else []
        return [*both, self._gates * self._num_units]

    def state_shape(self, batch_size: int) -> list[int]:
        """The shape of the state."""
        return [batch_size, self._num_units]

    def _run(self, inputs: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        if self._reset_after:
            biases = tf.transpose(tf.reshape(self.biases, [2, self._gates, self._num_units]), [1, 0, 2])
        else:
            biases = tf.reshape(self.biases, [self._gates, self._num_units])
        outputs, h = recurrent.gru(
            inputs,
            self._combined_kernel(),
            biases,
            states[0],
            reset_after=self._reset_after,
            activation=self._activation,
            recurrent_activation=self._recurrent_activation,
            **self._planning(),
        )
        return outputs, [h]

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {**super().get_config(), "reset_after": self._reset_after}


GRU = PopnnGRU
