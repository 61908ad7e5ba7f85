"""Collectives between shards equal NumPy over the list of tensors."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import shards

REDUCTIONS = {"ADD": np.sum, "MUL": np.prod, "MIN": np.min, "MAX": np.max}


def padded(vectors):
    longest = max(map(len, vectors))
    return np.array([[*vector, *[0] * (longest - len(vector))] for vector in vectors], np.float32)


vectors = st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=5), min_size=2, max_size=4)


@settings(max_examples=40, deadline=None)
@given(vectors, st.sampled_from(sorted(REDUCTIONS)))
def test_reductions_equal_numpy(values, op):
    tensors = [tf.constant(value, tf.float32) for value in values]
    expected = REDUCTIONS[op](padded(values), axis=0)
    for result in shards.all_reduce(tensors, f"COLLECTIVE_OP_{op}"):
        np.testing.assert_array_equal(result, expected)
    parts = shards.reduce_scatter(tensors, f"COLLECTIVE_OP_{op}")
    assert len({int(part.shape[0]) for part in parts}) == 1
    dealt = np.stack(parts, axis=1).reshape(-1)
    np.testing.assert_array_equal(dealt[: len(expected)], expected)
    np.testing.assert_array_equal(dealt[len(expected) :], 0)


def test_logical_reductions_and_scalars():
    flags = [tf.constant([False, True]), tf.constant([True, True])]
    np.testing.assert_array_equal(shards.all_reduce(flags, "COLLECTIVE_OP_LOGICAL_AND")[1], [False, True])
    np.testing.assert_array_equal(shards.all_reduce(flags, "COLLECTIVE_OP_LOGICAL_OR")[0], [True, True])
    np.testing.assert_array_equal(
        shards.all_reduce([tf.constant(1), tf.constant(2)], "COLLECTIVE_OP_ADD")[0], [3]
    )
    np.testing.assert_array_equal(shards.all_gather([tf.constant(1), tf.constant(2)])[1], [1, 2])


def test_gathering_joins_along_an_axis_and_its_gradient_is_summed():
    first, second = tf.Variable(tf.ones([1, 2, 3])), tf.Variable(2 * tf.ones([1, 3, 3]))
    with tf.GradientTape() as tape:
        tensors = [tf.identity(first), tf.identity(second)]
        one, other = shards.all_gather(tensors, axis=1)
        loss = tf.reduce_sum(one) + 2 * tf.reduce_sum(other)
    assert one.shape == other.shape == [1, 5, 3]
    np.testing.assert_array_equal(tape.gradient(loss, first), 3 * np.ones([1, 2, 3]))


def test_tensors_that_do_not_fit_are_refused():
    one = tf.constant([1.0])
    with pytest.raises(ValueError, match="duplicate"):
        shards.all_gather([one, one])
    with pytest.raises(ValueError, match="same type"):
        shards.all_gather([one, tf.constant([1])])
    with pytest.raises(ValueError, match="same rank"):
        shards.all_reduce([one, tf.constant(1.0)], "COLLECTIVE_OP_ADD")
    with pytest.raises(ValueError, match="scalars or vectors"):
        shards.all_reduce([tf.zeros([1, 2]), tf.ones([1, 2])], "COLLECTIVE_OP_ADD")
    with pytest.raises(ValueError, match="Unknown collective op"):
        shards.all_reduce([one, tf.constant([2.0])], "ADD")
    with pytest.raises(ValueError, match="all dimensions but 0"):
        shards.all_gather([tf.zeros([2, 3]), tf.zeros([2, 4])])


def test_tensors_out_of_the_order_of_the_shards_are_refused():
    from tremula.frontends.tensorflow import scopes

    with tf.Graph().as_default():
        tensors = []
        for index in (1, 0):
            with scopes.ipu_shard(index):
                tensors.append(tf.zeros([2]) + float(index))
        with pytest.raises(tf.errors.FailedPreconditionError, match="order of the IPUs"):
            shards.all_gather(tensors)
        assert len(shards.all_gather(tensors[::-1])) == 2
