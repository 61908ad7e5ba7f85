"""Histograms count as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import histograms

values = st.lists(st.floats(-100, 100, width=16), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(
    values,
    st.lists(st.floats(-50, 50, width=16), min_size=1, max_size=6, unique=True),
    st.booleans(),
    st.booleans(),
)
def test_counts_equal_numpy(inputs, levels, absolute, half):
    dtype = np.float16 if half else np.float32
    x, edges = np.array(inputs, dtype), np.sort(np.array(levels, dtype))
    seen = np.abs(x) if absolute else x
    expected = np.bincount(np.digitize(seen, edges), minlength=len(edges) + 1)
    counts = histograms.histogram(x, edges, absolute)
    assert counts.dtype == tf.float32
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(histograms.histogram_update(counts, x, edges, absolute), 2 * expected)
    np.testing.assert_allclose(histograms.histogram_normalize(counts), expected / len(x), rtol=1e-6)


def test_levels_are_evenly_spaced():
    np.testing.assert_allclose(
        histograms.fixed_width_bins(tf.constant([3.0, -1.0, 1.0]), 5), [-1, 0, 1, 2, 3]
    )


def test_types_and_shapes_that_do_not_fit_are_refused():
    vector, matrix = np.ones(3, np.float32), np.ones([1, 3], np.float32)
    with pytest.raises(ValueError, match="Only float16 and float32"):
        histograms.histogram(np.ones(3, np.int32), vector)
    with pytest.raises(ValueError, match="histogram expects rank-1"):
        histograms.histogram(vector, matrix)
    with pytest.raises(ValueError, match="histogram_update expects rank-1"):
        histograms.histogram_update(np.ones([4], np.float32), matrix, vector)
    with pytest.raises(ValueError, match="shapes are incompatible"):
        histograms.histogram_update(vector, vector, vector)
    with pytest.raises(ValueError, match="hist must be of float32"):
        histograms.histogram_update(np.ones([4], np.float16), vector, vector)
