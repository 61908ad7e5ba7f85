"""Native ops: recurrent layers, collectives and helpers under the generated names."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import facts, op_helpers, recurrent
from tremula.frontends.tensorflow.ops.native import datastream, popnn_recurrent, poputil

UNITS = 3


def layer_arguments(gates):
    rng = np.random.default_rng(0)
    return {
        "inputs": rng.normal(size=[4, 2, 5]).astype(np.float32),
        "kernel": tf.constant(rng.normal(size=[5 + UNITS, gates * UNITS]), tf.float32),
        "biases": rng.normal(size=[gates, UNITS]).astype(np.float32),
        "num_channels": UNITS,
        "activation": "tanh",
        "recurrent_activation": "sigmoid",
    }


def test_an_lstm_gives_outputs_and_the_cell_state():
    state = tf.zeros([2, UNITS])
    arguments = layer_arguments(4)
    outputs, cell, _ = popnn_recurrent.popnn_lstm_layer(
        **arguments, input_h_state=state, input_c_state=state, is_training=True
    )
    expected, _, expected_cell = recurrent.lstm(
        tf.constant(arguments["inputs"]), arguments["kernel"], arguments["biases"], state, state
    )
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(cell, expected_cell)


def test_layers_for_inference_refuse_gradients_and_say_why():
    arguments = layer_arguments(3)
    with tf.GradientTape() as tape:
        tape.watch(arguments["kernel"])
        outputs, _ = popnn_recurrent.popnn_augru_layer(
            **arguments,
            initial_state=tf.zeros([2, UNITS]),
            seq_len=[4, 2],
            att_score=tf.zeros([4, 2]),
            is_training=False,
        )
    with pytest.raises(ValueError, match="is_training must be set to True"):
        tape.gradient(outputs, arguments["kernel"])
    np.testing.assert_array_equal(outputs[2:, 1], 0)


def test_options_of_a_layer_are_facts():
    with tf.Graph().as_default():
        arguments = layer_arguments(3) | {"kernel": tf.zeros([5 + UNITS, 3 * UNITS])}
        outputs, _ = popnn_recurrent.popnn_dynamic_gru_layer(
            **arguments,
            initial_state=tf.zeros([2, UNITS]),
            seq_len=tf.constant([4, 2]),
            is_training=True,
            partials_dtype=tf.float16,
            options='{"availableMemoryProportion": "0.2"}',
        )
        recorded = facts.recorded(outputs)
        assert recorded["partials_dtype"] == tf.float16
        assert recorded["options"] == '{"availableMemoryProportion": "0.2"}'


def test_a_wrong_number_of_channels_is_refused():
    with pytest.raises(ValueError, match="num_channels is 3, but the state has 4"):
        popnn_recurrent.popnn_gru_layer(
            **layer_arguments(3), initial_state=tf.zeros([2, 4]), is_training=True
        )


def test_one_replica_normalises_by_one():
    np.testing.assert_array_equal(poputil.ipu_replication_normalise(tf.constant([2.0])), [2.0])
    assert int(poputil.ipu_replication_factor()) >= 1


def test_accumulated_gradients_have_the_type_of_their_accumulator():
    half, single = tf.Variable(tf.ones([2], tf.float16)), tf.Variable(tf.ones([2]))
    pairs = [(tf.ones([2], tf.float16), half), (tf.ones([2]), single), (None, single)]
    kept = op_helpers.accumulate_gradients(pairs, None)
    assert [g.dtype if g is not None else None for g, _ in kept] == [tf.float16, tf.float32, None]
    wide = op_helpers.accumulate_gradients(pairs, lambda _: tf.float32, grad_scale=0.5)
    assert wide[0][0].dtype == tf.float32
    np.testing.assert_array_equal(wide[0][0], [0.5, 0.5])
    tagged = op_helpers.accumulate_tagged_gradients({"a": [tf.ones([2], tf.float16)]}, np.float32)
    assert tagged["a"][0].dtype == tf.float32


def test_words_for_three_states():
    assert op_helpers.bool_to_three_state(None) == "THREESTATE_UNDEFINED"
    assert op_helpers.bool_to_three_state(None, "THREESTATE_ON") == "THREESTATE_ON"
    assert op_helpers.bool_to_three_state(False) == "THREESTATE_OFF"


@pytest.mark.parametrize("mode", ["all", "get_last"])
def test_an_outfeed_has_a_name(mode):
    name = f"test feed {mode}"
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [2])
        put = datastream.pop_datastream_outfeed_enqueue([x], [[2]], name, outfeed_mode=mode)
        take = datastream.pop_datastream_outfeed_dequeue([np.float32], [[2]], name, outfeed_mode=mode)
        for value in (1.0, 2.0):
            session.run(put, {x: [value, value]})
        (found,) = session.run(take)
        np.testing.assert_array_equal(found, [[1, 1], [2, 2]] if mode == "all" else [2, 2])
