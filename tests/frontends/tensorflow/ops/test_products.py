"""Products and sums in steps equal the plain ones."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import facts, products
from tremula.frontends.tensorflow.ops.native import popops


@pytest.mark.parametrize("dimension", ["a_columns", "a_rows_b_columns", "b_rows"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_serialized_matmul_is_a_matmul(dimension, transpose_a, transpose_b):
    rng = np.random.default_rng(0)
    a = rng.normal(size=[3, 6, 4] if transpose_a else [3, 4, 6]).astype(np.float32)
    b = rng.normal(size=[8, 6] if transpose_b else [6, 8]).astype(np.float32)
    result = products.serialized_matmul(a, b, 2, dimension, transpose_a, transpose_b)
    expected = (np.swapaxes(a, -1, -2) if transpose_a else a) @ (b.T if transpose_b else b)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_the_steps_are_facts():
    with tf.Graph().as_default():
        result = products.serialized_matmul(tf.zeros([4, 6]), tf.zeros([6, 2]), 3, "a_rows_b_columns")
        assert facts.recorded(result) == {
            "serialization_factor": 3,
            "serialization_dimension": "a_rows_b_columns",
        }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros([4, 6]), np.zeros([6, 2]), 0, "b_rows"), "at least 1"),
        ((np.zeros([4, 6]), np.zeros([6, 2]), 3, "a_columns"), "to divide"),
        ((np.zeros([4, 6]), np.zeros([6, 2]), 2, "columns"), "Invalid serialization_dimension"),
        ((np.zeros([4]), np.zeros([6, 2]), 2, "b_rows"), "minimum rank of 2"),
        ((np.zeros([4, 6]), np.zeros([5, 2]), 2, "b_rows"), "have to match"),
    ],
)
def test_factors_and_shapes_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        products.serialized_matmul(*arguments)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-2, 8), min_size=1, max_size=12), st.integers(1, 6))
def test_sums_over_rows_leave_out_what_is_out_of_range(ids, rows):
    data = np.arange(len(ids) * 2, dtype=np.float32).reshape(-1, 2) + 1
    expected = np.zeros([rows, 2], np.float32)
    for index, row in zip(ids, data, strict=True):
        if 0 <= index < rows:
            expected[index] += row
    np.testing.assert_array_equal(products.segment_sum(data, np.array(ids, np.int32), rows), expected)
    table = tf.ones([rows, 2])
    added = popops.ipu_multi_update_add(table, ids, data, 0.5)
    np.testing.assert_array_equal(added, 1 + 0.5 * expected)
    taken = popops.ipu_multi_slice(expected, ids)
    for index, row in zip(ids, taken, strict=True):
        np.testing.assert_array_equal(row, expected[index] if 0 <= index < rows else np.zeros(2))


def test_rows_are_replaced():
    result = popops.ipu_multi_update(tf.zeros([3, 2]), [2, 7, 0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(result, [[5, 6], [0, 0], [1, 2]])


def test_the_gradient_of_rows_that_are_not_there_is_zero():
    table = tf.Variable(tf.ones([3, 2]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(popops.ipu_multi_slice(table, [1, 5, 1]))
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(loss, table)), [[0, 0], [2, 2], [0, 0]])
