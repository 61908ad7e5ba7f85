"""Losses over sampled classes equal stock TensorFlow's with the same sample."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import sampling

CLASSES, DIM, BATCH, SAMPLED = 20, 6, 4, 5


@pytest.mark.parametrize("num_true", [1, 3])
@pytest.mark.parametrize("loss", ["sampled_softmax_loss", "nce_loss"])
def test_losses_and_gradients_equal_stock_ones(loss, num_true):
    rng = np.random.default_rng(0)
    weights = tf.Variable(rng.normal(size=[CLASSES, DIM]).astype(np.float32))
    biases = tf.Variable(rng.normal(size=[CLASSES]).astype(np.float32))
    inputs = tf.constant(rng.normal(size=[BATCH, DIM]), tf.float32)
    labels = tf.constant(rng.integers(0, CLASSES, [BATCH, num_true]))
    sample = tf.random.log_uniform_candidate_sampler(labels, num_true, SAMPLED, True, CLASSES, seed=7)
    arguments = {
        "num_sampled": SAMPLED,
        "num_classes": CLASSES,
        "num_true": num_true,
        "sampled_values": sample,
    }
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        found = getattr(sampling, loss)(weights, biases, labels, inputs, **arguments)
        expected = getattr(tf.nn, loss)(
            weights, biases, labels, inputs, **arguments, remove_accidental_hits=False
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    for variable in (weights, biases, inputs):
        one, other = (tf.convert_to_tensor(tape.gradient(value, variable)) for value in (found, expected))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_a_sample_is_drawn_if_none_is_given():
    loss = sampling.sampled_softmax_loss(
        tf.ones([CLASSES, DIM]), tf.zeros([CLASSES]), [[1], [2]], tf.ones([2, DIM]), SAMPLED, CLASSES, seed=1
    )
    assert loss.shape == [2]
    assert np.isfinite(loss).all()
