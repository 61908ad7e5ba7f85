"""LSTM layers of TensorFlow 1 style."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.v1.recurrent import RecurrentLayer
from tremula.frontends.tensorflow.ops import recurrent

_State = tf.compat.v1.nn.rnn_cell.LSTMStateTuple


class PopnnLSTM(RecurrentLayer):
    """An LSTM over sequences of one length. Gates: input, forget, candidate, output."""

    _gates = 4

    def call(self, inputs: Any, initial_state: Any = None, training: bool = True) -> Any:
        """Run over sequences.

        Args:
            inputs: `[time, batch, features]`.
            initial_state: an `LSTMStateTuple`; None is zeros.
            training: recorded for the chip model: whether there is a backward pass.

        Returns:
            The outputs `[time, batch, units]`, and with `return_state` the last state, an `LSTMStateTuple`.

        Raises:
            ValueError: the initial state is not an `LSTMStateTuple`.
        """
        return self._run(inputs, None, initial_state, training)

    def _run(self, inputs: Any, seq_len: Any, initial_state: Any, training: bool) -> Any:
        inputs = tf.cast(inputs, self.dtype)
        if initial_state is None:
            initial_state = _State(self._zeros(inputs), self._zeros(inputs))
        elif not isinstance(initial_state, _State):
            raise ValueError(
                f"The initial state of {self.name} has to be an LSTMStateTuple of TensorFlow, not a "
                f"{type(initial_state).__name__}."
            )
        c, h = (tf.cast(state, inputs.dtype) for state in initial_state)
        settings = self._settings(is_training=bool(training))
        outputs, h, c = recurrent.lstm(inputs, self.kernel, self.biases, h, c, seq_len, **settings)
        return (outputs, _State(c, h)) if self._return_state else outputs

    def state_shape(self, batch_size: int) -> tuple[list[int], list[int]]:
        """The shapes of the cell state and of the hidden state."""
        return [batch_size, self._num_units], [batch_size, self._num_units]


class PopnnDynamicLSTM(PopnnLSTM):
    """An LSTM over sequences of different lengths: outputs after the end of a sequence are zero."""

    def call(  # type: ignore[override]
        self, inputs: Any, seq_len: Any, initial_state: Any = None, training: bool = True
    ) -> Any:
        """Run over sequences.

        Args:
            inputs: `[time, batch, features]`.
            seq_len: the length of each sequence, `[batch]`.
            initial_state: an `LSTMStateTuple`; None is zeros.
            training: recorded for the chip model: whether there is a backward pass.

        Returns:
            The outputs `[time, batch, units]`, and with `return_state` the last state, an `LSTMStateTuple`.

        Raises:
            ValueError: the initial state is not an `LSTMStateTuple`.
        """
        return self._run(inputs, seq_len, initial_state, training)
