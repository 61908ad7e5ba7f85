"""Runs of rows are copied as a loop in NumPy copies them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import sequences


def copied(dst, src, runs, zero_unused):
    result = np.zeros_like(dst) if zero_unused else dst.copy()
    for count, source, target in runs:
        result[target : target + count] = src[source : source + count]
    return result


@st.composite
def cases(draw):
    rows = draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    runs = []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(0, min(rows)))
        runs.append((count, *(draw(st.integers(0, size - count)) for size in rows)))
    return rows, runs, draw(st.booleans()), draw(st.sampled_from([np.float32, np.float16, np.int32]))


@settings(max_examples=50, deadline=None)
@given(cases(), st.booleans())
def test_slices_equal_a_loop(case, compiled):
    (src_rows, dst_rows), runs, zero_unused, dtype = case
    src = (1 + np.arange(src_rows * 6).reshape(src_rows, 2, 3)).astype(dtype)
    dst = -np.ones([dst_rows, 2, 3], dtype)
    counts, sources, targets = np.array(runs, np.int32).T

    def run(dst, src):
        return sequences.sequence_slice(dst, src, counts, sources, targets, zero_unused)

    result = (tf.function(run) if compiled else run)(tf.constant(dst), tf.constant(src))
    np.testing.assert_array_equal(result, copied(dst, src, runs, zero_unused))


@pytest.mark.parametrize("zero_unused", [False, True])
def test_the_gradient_of_the_source_is_that_of_the_rows_it_gave(zero_unused):
    src, dst = tf.Variable(tf.ones([4, 2])), tf.Variable(tf.ones([6, 2]))
    with tf.GradientTape() as tape:
        result = sequences.sequence_slice(dst, src, [2, 2], [0, 1], [0, 4], zero_unused)
        loss = tf.reduce_sum(result * tf.range(12.0)[::2, tf.newaxis])
    for_src, for_dst = tape.gradient(loss, [src, dst])
    np.testing.assert_array_equal(for_src[:, 0], [0, 2 + 8, 10, 0])
    assert for_dst is None


def test_unpack_puts_runs_one_after_the_other_and_pack_puts_them_back():
    rows = tf.reshape(tf.range(12.0), [6, 2])
    unpacked = sequences.sequence_slice_unpack(rows, [2, 1], [3, 0], 4)
    np.testing.assert_array_equal(unpacked, [[6, 7], [8, 9], [0, 1], [0, 0]])
    packed = sequences.sequence_slice_pack(tf.zeros([6, 2]), unpacked, [2, 1], [3, 0], False)
    np.testing.assert_array_equal(
        packed, tf.where([[True], [False], [False], [True], [True], [False]], rows, 0.0)
    )


def test_lists_of_different_lengths_and_other_inner_shapes_are_refused():
    rows = tf.zeros([3, 3])
    with pytest.raises(ValueError, match="num_elems, src_offsets and dst_offsets must have"):
        sequences.sequence_slice(rows, rows, [0, 1], [0], [0, 1], False)
    with pytest.raises(ValueError, match="num_elems and src_offsets must have matching"):
        sequences.sequence_slice_unpack(rows, [0, 1], [0], 1)
    with pytest.raises(ValueError, match="src and dst inner shapes must match"):
        sequences.sequence_slice_pack(tf.zeros([3, 2]), rows, [1], [0], False)
