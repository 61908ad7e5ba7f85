"""`gen_popnn_ops`: the recurrent layers of the device."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import recurrent
from tremula.frontends.tensorflow.static_shape import static_size


def _for_inference(layer: str, *tensors: Any) -> tuple[Any, ...]:
    """The tensors, with a gradient that says what is wrong."""

    @tf.custom_gradient
    def forward_only(*values: Any) -> Any:
        def refuse(*_: Any) -> Any:
            raise ValueError(
                f"To use {layer} in gradients, is_training must be set to True: otherwise the device keeps nothing "
                "for the backward pass."
            )

        return tuple(tf.identity(value) for value in values), refuse

    return tuple(forward_only(*tensors))


def _planning(partials_dtype: Any, options: str, options_bwd: str, **more: Any) -> dict[str, Any]:
    return {
        "partials_dtype": tf.as_dtype(partials_dtype),
        "options": options,
        "options_bwd": options_bwd,
        **more,
    }


def popnn_lstm_layer(
    inputs: Any,
    input_h_state: Any,
    input_c_state: Any,
    kernel: Any,
    biases: Any,
    activation: str,
    recurrent_activation: str,
    num_channels: int,
    is_training: bool,
    partials_dtype: Any = tf.float32,
    options: str = "{}",
    options_bwd: str = "{}",
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """An LSTM over a time-major sequence: the outputs, the last cell state, and a place-holder for intermediates."""
    planning = _planning(partials_dtype, options, options_bwd)
    return _lstm(
        "PopnnLstmLayer", inputs, input_h_state, input_c_state, kernel, biases, None,
        (activation, recurrent_activation), num_channels, is_training, name, planning,
    )  # fmt: skip


def popnn_dynamic_lstm_layer(
    inputs: Any,
    input_h_state: Any,
    input_c_state: Any,
    kernel: Any,
    biases: Any,
    seq_len: Any,
    activation: str,
    recurrent_activation: str,
    num_channels: int,
    is_training: bool,
    preserve_final_state: bool = False,
    partials_dtype: Any = tf.float32,
    options: str = "{}",
    options_bwd: str = "{}",
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """An LSTM over sequences of different lengths; as `popnn_lstm_layer`."""
    planning = _planning(partials_dtype, options, options_bwd, preserve_final_state=preserve_final_state)
    return _lstm(
        "PopnnDynamicLstmLayer", inputs, input_h_state, input_c_state, kernel, biases, seq_len,
        (activation, recurrent_activation), num_channels, is_training, name, planning,
    )  # fmt: skip


def _lstm(
    layer: str, inputs: Any, h: Any, c: Any, kernel: Any, biases: Any, seq_len: Any, activations: tuple[str, str],
    num_channels: int, is_training: bool, name: str | None, planning: dict[str, Any],
) -> tuple[Any, Any, Any]:  # fmt: skip
    inputs, h, c, kernel, biases = (tf.convert_to_tensor(value) for value in (inputs, h, c, kernel, biases))
    _check_channels(num_channels, h)
    outer, inner = activations
    with tf.name_scope(name or "lstm"):
        outputs, _, cell = recurrent.lstm(
            inputs, kernel, biases, h, c, seq_len, activation=outer, recurrent_activation=inner, **planning
        )
        if not is_training:
            outputs, cell = _for_inference(layer, outputs, cell)
        return outputs, cell, tf.zeros([], inputs.dtype)


def popnn_gru_layer(
    inputs: Any,
    initial_state: Any,
    kernel: Any,
    biases: Any,
    activation: str,
    recurrent_activation: str,
    num_channels: int,
    is_training: bool,
    partials_dtype: Any = tf.float32,
    reset_after: bool = False,
    options: str = "{}",
    options_bwd: str = "{}",
    name: str | None = None,
) -> tuple[Any, Any]:
    """A GRU over a time-major sequence: the outputs, and a place-holder for intermediates."""
    planning = _planning(partials_dtype, options, options_bwd, reset_after=reset_after)
    return _gru(
        "PopnnGRULayer", inputs, initial_state, kernel, biases, None,
        (activation, recurrent_activation), num_channels, is_training, name, planning,
    )  # fmt: skip


def popnn_dynamic_gru_layer(
    inputs: Any,
    initial_state: Any,
    kernel: Any,
    biases: Any,
    seq_len: Any,
    activation: str,
    recurrent_activation: str,
    num_channels: int,
    is_training: bool,
    partials_dtype: Any = tf.float32,
    reset_after: bool = False,
    options: str = "{}",
    options_bwd: str = "{}",
    name: str | None = None,
) -> tuple[Any, Any]:
    """A GRU over sequences of different lengths; as `popnn_gru_layer`."""
    planning = _planning(partials_dtype, options, options_bwd, reset_after=reset_after)
    return _gru(
        "PopnnDynamicGRULayer", inputs, initial_state, kernel, biases, seq_len,
        (activation, recurrent_activation), num_channels, is_training, name, planning,
    )  # fmt: skip


def popnn_augru_layer(
    inputs: Any,
    initial_state: Any,
    kernel: Any,
    biases: Any,
    seq_len: Any,
    att_score: Any,
    activation: str,
    recurrent_activation: str,
    num_channels: int,
    is_training: bool,
    partials_dtype: Any = tf.float32,
    reset_after: bool = False,
    options: str = "{}",
    options_bwd: str = "{}",
    name: str | None = None,
) -> tuple[Any, Any]:
    """A GRU whose update gate an attention score `[time, batch]` scales; as `popnn_gru_layer`."""
    planning = _planning(partials_dtype, options, options_bwd, reset_after=reset_after, attention=att_score)
    return _gru(
        "PopnnAUGRULayer", inputs, initial_state, kernel, biases, seq_len,
        (activation, recurrent_activation), num_channels, is_training, name, planning,
    )  # fmt: skip


def _gru(
    layer: str, inputs: Any, h: Any, kernel: Any, biases: Any, seq_len: Any, activations: tuple[str, str],
    num_channels: int, is_training: bool, name: str | None, planning: dict[str, Any],
) -> tuple[Any, Any]:  # fmt: skip
    inputs, h, kernel, biases = (tf.convert_to_tensor(value) for value in (inputs, h, kernel, biases))
    _check_channels(num_channels, h)
    outer, inner = activations
    with tf.name_scope(name or "gru"):
        outputs, _ = recurrent.gru(
            inputs, kernel, biases, h, seq_len, activation=outer, recurrent_activation=inner, **planning
        )
        if not is_training:
            (outputs,) = _for_inference(layer, outputs)
        return outputs, tf.zeros([], inputs.dtype)


def _check_channels(num_channels: int, state: Any) -> None:
    if static_size(state, -1) != num_channels:
        raise ValueError(f"num_channels is {num_channels}, but the state has {static_size(state, -1)} units.")
