"""Recurrent layers equal those of Keras with the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

from ipu_tensorflow_addons.keras import layers

BATCH, TIME, FEATURES, UNITS = 3, 5, 4, 6


def _inputs(seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(BATCH, TIME, FEATURES)).astype(np.float32)


def _pair(ours: Any, stock: Any, **kwargs: Any) -> tuple[Any, Any]:
    mine, theirs = ours(UNITS, **kwargs), stock(UNITS, recurrent_activation="sigmoid", **kwargs)
    for layer in (mine, theirs):
        layer.build((BATCH, TIME, FEATURES))
    generator = np.random.default_rng(1)
    mine.set_weights([generator.normal(size=w.shape).astype(np.float32) for w in theirs.get_weights()])
    theirs.set_weights(mine.get_weights())
    return mine, theirs


@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize(
    ("ours", "stock", "kwargs"),
    [
        (layers.LSTM, keras.layers.LSTM, {}),
        (layers.GRU, keras.layers.GRU, {"reset_after": True}),
        (layers.GRU, keras.layers.GRU, {"reset_after": False}),
    ],
)
def test_outputs_states_and_gradients_equal_those_of_keras(
    ours: Any, stock: Any, kwargs: dict[str, Any], return_sequences: bool
) -> None:
    pair = _pair(ours, stock, return_sequences=return_sequences, return_state=True, **kwargs)
    results, gradients = [], []
    for layer in pair:
        with tf.GradientTape() as tape:
            outputs = layer(_inputs())
            loss = tf.add_n([tf.reduce_sum(tf.sin(output)) for output in outputs])
        results.append([output.numpy() for output in outputs])
        gradients.append([g.numpy() for g in tape.gradient(loss, layer.trainable_variables)])
    for mine, theirs in zip(results[0] + gradients[0], results[1] + gradients[1], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_stateful_layer_goes_on_where_it_stopped_until_it_is_reset() -> None:
    stateful, plain = layers.LSTM(UNITS, stateful=True), layers.LSTM(UNITS)
    x = _inputs()
    stateful.build(x.shape)
    plain.build(x.shape)
    plain.set_weights(stateful.get_weights())
    halves = [stateful(x[:, :2]), stateful(x[:, 2:])]
    np.testing.assert_allclose(halves[1], plain(x), rtol=1e-5, atol=1e-6)
    stateful.reset_states()
    np.testing.assert_allclose(stateful(x), plain(x), rtol=1e-5, atol=1e-6)


def test_dropout_is_the_same_in_all_steps_and_only_in_training() -> None:
    layer = layers.GRU(
        1, kernel_initializer="ones", recurrent_initializer="zeros", dropout=0.5, return_sequences=True
    )
    x = np.ones((32, 2, 3), np.float32)
    first, second = np.moveaxis(layer(x, training=True).numpy()[..., 0], 1, 0)
    # of three ones some are kept and doubled; without recurrent weights the gates depend on their sum alone
    update = {kept: 1 / (1 + np.exp(-2.0 * kept)) for kept in range(4)}
    after_one = np.array([(1 - update[kept]) * np.tanh(2.0 * kept) for kept in range(4)])
    kept = np.abs(first[:, None] - after_one).argmin(1)
    np.testing.assert_allclose(first, after_one[kept], atol=1e-5)
    assert len(set(kept)) > 1
    np.testing.assert_allclose(
        second, [one * (1 + update[k]) for one, k in zip(first, kept, strict=True)], atol=1e-5
    )
    assert len(set(layer(x, training=False).numpy()[:, 0, 0])) == 1


def test_time_major_is_the_transpose() -> None:
    batch_major = layers.LSTM(UNITS, return_sequences=True)
    x = _inputs()
    expected = batch_major(x)
    time_major = layers.LSTM(UNITS, return_sequences=True, time_major=True)
    time_major.build((TIME, BATCH, FEATURES))
    time_major.set_weights(batch_major.get_weights())
    np.testing.assert_allclose(tf.transpose(time_major(np.swapaxes(x, 0, 1)), [1, 0, 2]), expected, rtol=1e-6)


@pytest.mark.parametrize("layer", [layers.LSTM, layers.GRU])
def test_options_are_kept_in_the_configuration(layer: Any) -> None:
    options = {"availableMemoryProportion": 0.2}
    made = layer(UNITS, options=options, options_bwd={"partialsType": "half"}, partials_dtype=tf.float16)
    again = layer.from_config(made.get_config())
    assert again.get_config() == made.get_config()
    assert again.get_config()["options"] == options


@pytest.mark.parametrize("name", ["options", "options_bwd"])
def test_a_negative_memory_proportion_is_refused_as_by_the_device(name: str) -> None:
    layer = layers.LSTM(UNITS, **{name: {"availableMemoryProportion": -1}})
    with pytest.raises(tf.errors.InternalError, match=r"invalid_option.*greater than or equal to 0"):
        layer(_inputs())


@pytest.mark.parametrize(
    "wrong",
    [
        {"use_bias": False},
        {"go_backwards": True},
        {"unroll": True},
        {"kernel_regularizer": "l2"},
        {"recurrent_dropout": 0.5},
        {"implementation": 3},
        {"activation": "elu"},
        {"recurrent_activation": "relu"},
        {"dtype": "float64"},
    ],
)
def test_what_the_device_does_not_have_is_refused(wrong: dict[str, Any]) -> None:
    for layer in (layers.LSTM, layers.GRU):
        with pytest.raises(ValueError, match=r"Popnn(LSTM|GRU)"):
            layer(UNITS, **wrong)


def test_layers_train_in_a_mixed_precision_model() -> None:
    layer = layers.LSTM(UNITS, dtype=keras.mixed_precision.Policy("mixed_float16"))
    assert layer(_inputs()).dtype == tf.float16
    assert all(weight.dtype == tf.float32 for weight in layer.weights)
