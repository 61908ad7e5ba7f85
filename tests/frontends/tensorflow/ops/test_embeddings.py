"""Look-ups in tables on the device."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.compiler.plugin.poplar.ops import gen_popops_ops
from tensorflow.python.ipu.ops.embedding_ops import embedding_lookup

_TABLE = np.random.default_rng(0).normal(size=(12, 2, 3)).astype(np.float32)


@pytest.mark.parametrize("factor", [1, 3, 12])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 2)])
def test_rows_are_found(factor: int, shape: tuple[int, ...]) -> None:
    ids = np.random.default_rng(1).integers(0, 12, shape)
    found = embedding_lookup(tf.constant(_TABLE), tf.constant(ids, tf.int32), serialization_factor=factor)
    assert found.shape == (*shape, 2, 3)
    np.testing.assert_array_equal(found, _TABLE[ids])


@given(st.lists(st.integers(0, 11), min_size=1, max_size=20), st.sampled_from([1, 2, 6]))
@settings(deadline=None, max_examples=25)
def test_the_gradient_is_dense_and_sums_rows_that_come_twice(ids: list[int], factor: int) -> None:
    table = tf.Variable(_TABLE)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(embedding_lookup(table, tf.constant(ids, tf.int32), factor) * 3)
    gradient = tape.gradient(loss, table)
    assert tf.is_tensor(gradient)
    expected = np.zeros_like(_TABLE)
    np.add.at(expected, ids, 3.0)
    np.testing.assert_allclose(gradient, expected)


def test_a_number_in_no_part_of_the_table_gives_zeros() -> None:
    table = tf.Variable(_TABLE)
    with tf.GradientTape() as tape:
        found = embedding_lookup(table, tf.constant([12, -1, 3]), serialization_factor=2)
    np.testing.assert_array_equal(found, [np.zeros((2, 3)), np.zeros((2, 3)), _TABLE[3]])
    assert np.count_nonzero(np.any(tape.gradient(found, table).numpy(), axis=(1, 2))) == 1


@pytest.mark.parametrize(("factor", "text"), [(0, "at least 1"), (5, r"\(5\) must divide .* \(12\)")])
def test_factors_that_do_not_fit_are_refused(factor: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        embedding_lookup(tf.constant(_TABLE), tf.constant([0]), serialization_factor=factor)


def test_rows_are_added_to_a_matrix() -> None:
    table, updates = np.ones((4, 2), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    found = gen_popops_ops.ipu_multi_update_add(table, indices=[1, 3, 1], updates=updates, scale=2)
    np.testing.assert_array_equal(found, [[1, 1], [9, 13], [1, 1], [5, 7]])
