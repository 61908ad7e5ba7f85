"""Dropout: the mask, its seed, and the backward pass."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import dropout, facts
from tremula.frontends.tensorflow.ops.native import poprand


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 0.95), st.sampled_from([tf.float32, tf.float16]), st.integers(-(2**31), 2**31 - 1))
def test_kept_elements_are_scaled_and_their_share_is_the_rate(rate, dtype, seed):
    x = tf.ones([64, 64], dtype)
    result = dropout.dropout(x, rate, seed=[seed, 1]).numpy()
    assert result.dtype == dtype
    assert abs((result != 0).mean() - (1 - rate)) < 0.05
    np.testing.assert_allclose(result[result != 0], 1 / (1 - rate), rtol=2e-3)


def test_a_seed_decides_the_mask_and_none_draws_a_new_one():
    x = tf.ones([100])

    @tf.function
    def drop(x):
        return dropout.dropout(x), dropout.dropout(x, seed=[3, 4])

    first, seeded = drop(x)
    second, again = drop(x)
    assert (first.numpy() != second.numpy()).any()
    np.testing.assert_array_equal(seeded, again)
    np.testing.assert_array_equal(seeded, dropout.dropout(x, seed=np.array([3, 4], np.int32)))


@pytest.mark.parametrize("seed", [None, [1, 2]])
def test_the_backward_pass_has_the_same_mask(seed):
    x = tf.Variable(tf.random.stateless_uniform([50], [0, 0]) + 1)
    with tf.GradientTape() as tape:
        y = dropout.dropout(x, 0.4, seed=seed)
    np.testing.assert_array_equal(tape.gradient(y, x) != 0, y != 0)


def test_a_shape_of_the_noise_shares_decisions():
    result = dropout.dropout(tf.ones([40, 5]), noise_shape=[40, 1], seed=[5, 6]).numpy()
    assert (result == result[:, :1]).all()
    assert 0 < (result == 0).sum() < result.size


def test_what_is_dropped_is_zero_even_if_it_was_no_number():
    result = dropout.dropout(tf.fill([64], float("nan")), seed=[1, 2]).numpy()
    assert (result == 0).any()


def test_native_ops_give_the_seed_that_makes_the_same_mask_again():
    x = tf.ones([64])
    output, seed, _ = poprand.ipu_dropout(x, rate=0.5, scale=2.0)
    again, _, _ = poprand.ipu_dropout_with_seed(x, seed, rate=0.5, scale=2.0)
    back, _ = poprand.ipu_dropout_with_seed_and_reference(x, seed, None, rate=0.5, scale=2.0)
    np.testing.assert_array_equal(output, again)
    np.testing.assert_array_equal(output, back)


def test_the_op_that_draws_the_seed_is_marked_and_has_seeds_of_its_own():
    with tf.Graph().as_default() as graph:
        dropout.dropout(tf.ones([3]))
        (op,) = [op for op in graph.get_operations() if facts.recorded(op).get("random_stream")]
        assert {"seed", "seed2"} <= set(op.node_def.attr)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.0}, r"range \[0, 1\)"),
        ({"rate": -0.1}, r"range \[0, 1\)"),
        ({"noise_shape": [1]}, "must equal the rank of x"),
        ({"noise_shape": [3, 2]}, "Dimension mismatch"),
        ({"seed": [1]}, r"shape \[2\]"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        dropout.dropout(tf.ones([4, 2]), **options)
    with pytest.raises(TypeError, match="unexpected keyword"):
        dropout.dropout(tf.ones([4]), mask=1)
