"""Recurrent layers of TensorFlow 1 style."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

from ipu_tensorflow_addons.v1 import layers

v1 = tf.compat.v1
TIME, BATCH, FEATURES, UNITS = 4, 3, 2, 5
LENGTHS = np.array([4, 1, 2], np.int32)


def _inputs() -> Any:
    return np.random.default_rng(0).normal(size=(TIME, BATCH, FEATURES)).astype(np.float32)


def _run(make: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        result = make()
        session.run(v1.global_variables_initializer())
        return session.run(result)


def _like_stock(stock: Any, mask: Any) -> list[Any]:
    """Outputs that are zero behind the end of each sequence, and the states of the stock layer."""
    outputs, *states = stock(_inputs(), mask=tf.constant(mask))
    return [np.where(mask[..., None], outputs, 0), *(state.numpy() for state in states)]


def test_a_dynamic_lstm_equals_a_masked_one_of_keras() -> None:
    mask = np.arange(TIME)[:, None] < LENGTHS
    initializer = keras.initializers.RandomNormal(seed=3)
    arguments = {
        "return_sequences": True,
        "return_state": True,
        "time_major": True,
        "unit_forget_bias": False,
    }
    stock = keras.layers.LSTM(UNITS, **arguments)
    stock.build((TIME, BATCH, FEATURES))
    kernel = initializer((FEATURES + UNITS, 4 * UNITS)).numpy()
    stock.set_weights([kernel[:FEATURES], kernel[FEATURES:], np.zeros(4 * UNITS)])
    outputs, h, c = _like_stock(stock, mask)

    def make() -> Any:
        layer = layers.PopnnDynamicLSTM(UNITS, weights_initializer=v1.constant_initializer(kernel))
        return layer(_inputs(), LENGTHS)

    mine, state = _run(make)
    for found, expected in zip([mine, state.h, state.c], [outputs, h, c], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reset_after", [False, True])
def test_a_dynamic_gru_equals_a_masked_one_of_keras(reset_after: bool) -> None:
    mask = np.arange(TIME)[:, None] < LENGTHS
    generator = np.random.default_rng(4)
    kernel = generator.normal(size=(FEATURES + UNITS, 3 * UNITS)).astype(np.float32)
    bias = generator.normal(size=(3, 2, UNITS) if reset_after else (3, UNITS)).astype(np.float32)
    stock = keras.layers.GRU(
        UNITS, reset_after=reset_after, return_sequences=True, return_state=True, time_major=True
    )
    stock.build((TIME, BATCH, FEATURES))
    flat = np.moveaxis(bias, 1, 0).reshape(2, -1) if reset_after else bias.reshape(-1)
    stock.set_weights([kernel[:FEATURES], kernel[FEATURES:], flat])

    def make() -> Any:
        layer = layers.PopnnDynamicGRU(
            UNITS,
            weights_initializer=v1.constant_initializer(kernel),
            bias_initializer=v1.constant_initializer(bias),
            reset_after=reset_after,
        )
        return layer(_inputs(), LENGTHS)

    for found, expected in zip(_run(make), _like_stock(stock, mask), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_attention_of_one_keeps_nothing_of_the_state_and_of_zero_is_a_gru() -> None:
    def augru(score: float) -> Any:
        layer = layers.PopnnAUGRU(UNITS, weights_initializer=v1.ones_initializer(), return_state=False)
        return layer(_inputs(), np.full(BATCH, TIME, np.int32), np.full((TIME, BATCH), score, np.float32))

    def gru() -> Any:
        bias = np.repeat([1.0, 1.0, 0.0], UNITS).reshape(3, UNITS)
        layer = layers.PopnnGRU(
            UNITS,
            weights_initializer=v1.ones_initializer(),
            bias_initializer=v1.constant_initializer(bias),
            return_state=False,
        )
        return layer(_inputs())

    np.testing.assert_allclose(_run(lambda: augru(0.0)), _run(gru), rtol=1e-5)
    assert np.abs(_run(lambda: augru(1.0)) - _run(gru)).max() > 1e-3


def test_variables_have_the_names_of_the_scope_and_layers_share_them_when_reused() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [TIME, BATCH, FEATURES])
        layer = layers.PopnnLSTM(UNITS, name="cell")
        with v1.variable_scope("model"):
            layer(x)
            layer(x)
        assert [v.name for v in v1.global_variables()] == ["model/cell/kernel:0", "model/cell/biases:0"]


def test_a_state_that_is_no_tuple_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="LSTMStateTuple"):
        layers.PopnnLSTM(UNITS)(_inputs(), initial_state=np.zeros((BATCH, UNITS), np.float32))
