"""Captured gradients."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu.eager import backprop
from tensorflow.python.ipu.eager.backprop import GradientCaptureContext, GradientCaptureTape
from tensorflow.python.ipu.ops.grad_util_ops import capture_upstream_gradients


def test_structures_come_out_as_they_went_in() -> None:
    value = {"a": tf.constant(1.0), "b": [tf.constant([2.0, 3.0])]}
    found = capture_upstream_gradients(value, tag="t")
    tf.nest.assert_same_structure(found, value)
    np.testing.assert_array_equal(found["b"][0], [2, 3])


@pytest.mark.parametrize("graph", [False, True])
def test_a_tape_captures_what_arrives(graph: bool) -> None:
    x = tf.Variable(0.5)

    def step() -> tuple[Any, Any]:
        with GradientCaptureTape() as tape:
            y = tf.tanh(capture_upstream_gradients(x**2, tag="square"))
        return tape.gradient(y, x), tape.captured_gradients

    gradient, captured = (tf.function(step) if graph else step)()
    slope = 1 - np.tanh(0.25) ** 2
    np.testing.assert_allclose(captured["square"][0], slope, rtol=1e-4)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4)


def test_a_context_captures_for_any_tape() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = 5 * capture_upstream_gradients(x, tag="five")
    with GradientCaptureContext() as context:
        tape.gradient(y, x)
    assert float(context.captured_gradients["five"][0]) == 5
    assert backprop.num_gradient_collection_tapes() == 0


def test_a_gradient_outside_a_context_is_refused() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = capture_upstream_gradients(x, tag="lost")
    with pytest.raises(RuntimeError, match="may only be used within the context of"):
        tape.gradient(y, x)


def test_the_innermost_context_gets_the_gradients() -> None:
    x = tf.Variable(2.0)
    with GradientCaptureContext() as outer, GradientCaptureTape() as inner:
        y = capture_upstream_gradients(x, tag="x")
    inner.gradient(y, x)
    assert set(inner.captured_gradients) == {"x"}
    assert outer.captured_gradients == {}


def test_tags_are_unique_in_a_context() -> None:
    x = tf.Variable(2.0)
    with GradientCaptureTape() as tape:
        y = capture_upstream_gradients(capture_upstream_gradients(x, tag="x"), tag="x")
    with pytest.raises(ValueError, match="'x'"):
        tape.gradient(y, x)


def test_a_persistent_tape_captures_each_time() -> None:
    x = tf.Variable(2.0)
    with GradientCaptureTape(persistent=True) as tape:
        y = capture_upstream_gradients(x, tag="x")
        a, b = 3 * y, 4 * y
    assert float(tape.gradient(a, x)) == 3
    assert float(tape.captured_gradients["x"][0]) == 3
    tape.gradient(b, x)
    assert float(tape.captured_gradients["x"][0]) == 4


def test_a_context_that_is_gone_is_closed() -> None:
    GradientCaptureContext().__enter__()
    gc.collect()
    assert backprop.num_gradient_collection_tapes() == 0


def test_captured_gradients_cannot_be_set() -> None:
    with pytest.raises(ValueError, match="read only"):
        GradientCaptureContext().captured_gradients = {}
