"""Recurrent layers equal stock Keras layers with the same weights, in values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import recurrent

TIME, BATCH, FEATURES, UNITS = 5, 3, 4, 6


def arrays(gates, bias_shape, seed=0):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    return {
        "inputs": normal(TIME, BATCH, FEATURES),
        "kernel": normal(FEATURES, gates * UNITS),
        "recurrent_kernel": normal(UNITS, gates * UNITS),
        "bias": normal(*bias_shape),
        "h": normal(BATCH, UNITS),
        "c": normal(BATCH, UNITS),
    }


def tensors(data):
    return {name: tf.constant(value) for name, value in data.items()}


def keras_layer(kind, data, **options):
    layer = kind(UNITS, return_sequences=True, return_state=True, time_major=True, **options)
    layer.build((TIME, BATCH, FEATURES))
    layer.set_weights([data["kernel"], data["recurrent_kernel"], data["bias"]])
    return layer


def run_lstm(t, **options):
    kernel = tf.concat([t["kernel"], t["recurrent_kernel"]], 0)
    return recurrent.lstm(t["inputs"], kernel, tf.reshape(t["bias"], [4, UNITS]), t["h"], t["c"], **options)


def device_bias(bias, reset_after):
    if not reset_after:
        return tf.reshape(bias, [3, UNITS])
    return tf.transpose(tf.reshape(bias, [2, 3, UNITS]), [1, 0, 2])


def run_gru(t, reset_after=False, **options):
    kernel = tf.concat([t["kernel"], t["recurrent_kernel"]], 0)
    bias = device_bias(t["bias"], reset_after)
    return recurrent.gru(t["inputs"], kernel, bias, t["h"], reset_after=reset_after, **options)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
def test_lstm_equals_keras(activation):
    data = arrays(4, [4 * UNITS])
    layer = keras_layer(tf.keras.layers.LSTM, data, activation=activation)
    t = tensors(data)
    with tf.GradientTape() as tape:
        tape.watch(list(t.values()))
        outputs, h, c = run_lstm(t, activation=activation)
        loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(tf.sin(c)) + tf.reduce_sum(h)
    with tf.GradientTape() as reference_tape:
        reference_tape.watch([t["inputs"], t["h"], t["c"]])
        expected, expected_h, expected_c = layer(t["inputs"], initial_state=[t["h"], t["c"]])
        expected_loss = (
            tf.reduce_sum(expected**2) + tf.reduce_sum(tf.sin(expected_c)) + tf.reduce_sum(expected_h)
        )
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(h, expected_h, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(c, expected_c, rtol=1e-5, atol=1e-5)
    gradients = tape.gradient(
        loss, [t["inputs"], t["h"], t["c"], t["kernel"], t["recurrent_kernel"], t["bias"]]
    )
    expected_gradients = reference_tape.gradient(
        expected_loss, [t["inputs"], t["h"], t["c"], *layer.trainable_weights]
    )
    for gradient, reference in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("recurrent_activation", ["sigmoid", "softmax"])
def test_gru_equals_keras(reset_after, recurrent_activation):
    data = arrays(3, [2, 3 * UNITS] if reset_after else [3 * UNITS])
    options = {"recurrent_activation": recurrent_activation}
    layer = keras_layer(tf.keras.layers.GRU, data, reset_after=reset_after, **options)
    t = tensors(data)
    with tf.GradientTape() as tape:
        tape.watch(list(t.values()))
        outputs, h = run_gru(t, reset_after, **options)
        loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(h)
    with tf.GradientTape() as reference_tape:
        reference_tape.watch([t["inputs"], t["h"]])
        expected, expected_h = layer(t["inputs"], initial_state=t["h"])
        expected_loss = tf.reduce_sum(expected**2) + tf.reduce_sum(expected_h)
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(h, expected_h, rtol=1e-5, atol=1e-5)
    gradients = tape.gradient(loss, [t["inputs"], t["h"], t["kernel"], t["recurrent_kernel"], t["bias"]])
    expected_gradients = reference_tape.gradient(
        expected_loss, [t["inputs"], t["h"], *layer.trainable_weights]
    )
    for gradient, reference in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
def test_steps_after_the_end_of_a_sequence_give_zeros_and_keep_the_states(compiled):
    data = arrays(4, [4 * UNITS])
    t = tensors(data)
    lengths = np.array([2, 5, 1], np.int32)

    def run(t):
        return run_lstm(t, seq_len=lengths)

    outputs, h, c = (tf.function(run) if compiled else run)(t)
    for index, length in enumerate(lengths):
        alone = dict(t, inputs=t["inputs"][:length])
        expected, expected_h, expected_c = run_lstm(alone)
        np.testing.assert_allclose(outputs[:length, index], expected[:, index], rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(outputs[length:, index], 0)
        np.testing.assert_allclose(h[index], expected_h[index], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(c[index], expected_c[index], rtol=1e-6, atol=1e-6)


def test_attention_of_zero_is_a_gru_and_of_one_takes_the_candidate():
    t = tensors(arrays(3, [3 * UNITS]))
    plain, _ = run_gru(t)
    zero, _ = run_gru(t, attention=tf.zeros([TIME, BATCH]))
    np.testing.assert_array_equal(plain, zero)
    one, _ = run_gru(t, attention=tf.ones([TIME, BATCH]))
    kernel, recurrent_kernel = t["kernel"].numpy(), t["recurrent_kernel"].numpy()
    bias, h = t["bias"].numpy(), t["h"].numpy()

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    for step in range(TIME):
        x = t["inputs"].numpy()[step]
        reset = slice(UNITS, 2 * UNITS)
        last = slice(2 * UNITS, None)
        r = sigmoid(x @ kernel[:, reset] + h @ recurrent_kernel[:, reset] + bias[reset])
        h = np.tanh(x @ kernel[:, last] + (r * h) @ recurrent_kernel[:, last] + bias[last])
        np.testing.assert_allclose(one[step], h, rtol=1e-4, atol=1e-5)


def test_half_precision_stays_half_and_is_close_to_float():
    data = arrays(4, [4 * UNITS])
    half = {name: tf.constant(value.astype(np.float16)) for name, value in data.items()}
    outputs, h, c = run_lstm(half)
    assert outputs.dtype == h.dtype == c.dtype == tf.float16
    expected, _, _ = run_lstm(tensors(data))
    np.testing.assert_allclose(outputs, expected, atol=2e-2)


def test_a_graph_with_an_unknown_batch_size_keeps_static_shapes_where_it_can():
    t = tensors(arrays(3, [3 * UNITS]))

    @tf.function(input_signature=[tf.TensorSpec([None, None, FEATURES]), tf.TensorSpec([None, UNITS])])
    def run(inputs, h):
        outputs, last = run_gru(dict(t, inputs=inputs, h=h))
        assert outputs.shape.as_list() == [None, None, UNITS]
        return outputs, last

    outputs, _ = run(t["inputs"], t["h"])
    np.testing.assert_allclose(outputs, run_gru(t)[0], rtol=1e-6, atol=1e-6)


def test_an_unknown_activation_is_named():
    t = tensors(arrays(3, [3 * UNITS]))
    with pytest.raises(ValueError, match="no activation 'elu'"):
        run_gru(t, activation="elu")


def test_a_kernel_of_the_wrong_size_is_explained():
    t = tensors(arrays(3, [3 * UNITS]))
    with pytest.raises(ValueError, match="kernel has 9 rows"):
        recurrent.gru(t["inputs"], tf.zeros([9, 3 * UNITS]), device_bias(t["bias"], False), t["h"])
