"""GRU layers of TensorFlow 1 style."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.v1.recurrent import RecurrentLayer
from tremula.frontends.tensorflow.ops import recurrent


class PopnnGRU(RecurrentLayer):
    """A GRU over sequences of one length. Gates: update, reset, candidate.

    Arguments are those of `RecurrentLayer`, and `reset_after`: apply the reset gate after the product with the
    recurrent weights, which then has a bias of its own.
    """

    _gates = 3

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
        reset_after: bool = False,
        options: dict[str, Any] | None = None,
        options_bwd: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            num_units,
            dtype=dtype,
            partials_dtype=partials_dtype,
            seed=seed,
            weights_initializer=weights_initializer,
            bias_initializer=bias_initializer,
            activation=activation,
            recurrent_activation=recurrent_activation,
            return_state=return_state,
            name=name,
            options=options,
            options_bwd=options_bwd,
        )
        self._reset_after = reset_after

    @property
    def canonical_bias_shapes(self) -> list[int]:
        """The shape of the biases."""
        return [self._gates, *([2] if self._reset_after else []), self._num_units]

    def state_shape(self, batch_size: int) -> list[int]:
        """The shape of the state."""
        return [batch_size, self._num_units]

    def call(self, inputs: Any, initial_state: Any = None, training: bool = True) -> Any:
        """Run over sequences.

        Args:
            inputs: `[time, batch, features]`.
            initial_state: `[batch, units]`; None is zeros.
            training: recorded for the chip model: whether there is a backward pass.

        Returns:
            The outputs `[time, batch, units]`, and with `return_state` the last state.
        """
        return self._run(inputs, self.biases, None, initial_state, training)

    def _run(
        self,
        inputs: Any,
        biases: Any,
        seq_len: Any,
        initial_state: Any,
        training: bool,
        attention: Any = None,
    ) -> Any:
        inputs = tf.cast(inputs, self.dtype)
        state = self._zeros(inputs) if initial_state is None else tf.cast(initial_state, inputs.dtype)
        settings = self._settings(is_training=bool(training))
        outputs, state = recurrent.gru(
            inputs,
            self.kernel,
            biases,
            state,
            seq_len,
            attention=attention,
            reset_after=self._reset_after,
            **settings,
        )
        return (outputs, state) if self._return_state else outputs


class PopnnDynamicGRU(PopnnGRU):
    """A GRU over sequences of different lengths: outputs after the end of a sequence are zero."""

    def call(  # type: ignore[override]
        self,
        inputs: Any,
        seq_len: Any,
        initial_state: Any = None,
        training: bool = True,
        time_major: bool = True,
    ) -> Any:
        """Run over sequences.

        Args:
            inputs: `[time, batch, features]`, or `[batch, time, features]` without `time_major`.
            seq_len: the length of each sequence, `[batch]`.
            initial_state: `[batch, units]`; None is zeros.
            training: recorded for the chip model: whether there is a backward pass.
            time_major: the first dimension of the inputs is the time. That of the outputs always is.

        Returns:
            The outputs `[time, batch, units]`, and with `return_state` the last state.
        """
        return self._run(_time_first(inputs, time_major), self.biases, seq_len, initial_state, training)


class PopnnAUGRU(PopnnGRU):
    """A GRU whose update gate is scaled by attention, over sequences of different lengths.

    Its biases are variables of their own, `bias_r_u` that starts at one and `bias_c` that starts at zero.
    """

    def _add_weights(self) -> None:
        super()._add_weights()
        ones, zeros = tf.compat.v1.ones_initializer(), tf.compat.v1.zeros_initializer()
        self._gate_biases = self.add_weight("bias_r_u", shape=[2, self._num_units], initializer=ones)
        self._candidate_bias = self.add_weight("bias_c", shape=[1, self._num_units], initializer=zeros)

    def call(  # type: ignore[override]
        self,
        inputs: Any,
        seq_len: Any,
        attention_score: Any,
        initial_state: Any = None,
        training: bool = True,
        time_major: bool = True,
    ) -> Any:
        """Run over sequences.

        Args:
            inputs: `[time, batch, features]`, or `[batch, time, features]` without `time_major`.
            seq_len: the length of each sequence, `[batch]`.
            attention_score: `[time, batch]`, or `[batch, time]` without `time_major`.
            initial_state: `[batch, units]`; None is zeros.
            training: recorded for the chip model: whether there is a backward pass.
            time_major: the first dimension of the inputs is the time. That of the outputs always is.

        Returns:
            The outputs `[time, batch, units]`, and with `return_state` the last state.
        """
        biases = tf.concat([self._gate_biases, self._candidate_bias], 0)
        if self._reset_after:
            biases = tf.stack([biases, biases], 1)
        scores = _time_first(attention_score, time_major)
        return self._run(_time_first(inputs, time_major), biases, seq_len, initial_state, training, scores)


def _time_first(tensor: Any, time_major: bool) -> Any:
    tensor = tf.convert_to_tensor(tensor)
    return tensor if time_major else tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])
