"""Queues, barriers, printing and the iteration counter."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import facts, internal


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32])
def test_a_queue_gives_what_came_in_some_calls_before_and_zeros_at_first(depth, dtype):
    @tf.function
    def step(x):
        return internal.fifo(x, depth)

    given = [tf.cast(tf.fill([2], value), dtype) for value in range(1, 7)]
    found = [int(step(x)[0]) for x in given]
    assert found == [0] * depth + list(range(1, 7 - depth))


def test_a_queue_in_a_loop_of_a_session_keeps_its_elements_between_runs():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        _, last = tf.while_loop(
            lambda i, _: i < 3, lambda i, _: (i + 1, internal.fifo(x, 4)), [0, 0.0], parallel_iterations=1
        )
        assert [session.run(last, {x: value}) for value in (1.0, 2.0, 3.0)] == [0.0, 1.0, 2.0]
        assert not tf.compat.v1.global_variables()


def test_a_queue_has_no_gradient_and_its_depth_is_a_fact():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = internal.fifo(x, 2)
    assert tape.gradient(y, x) is None
    assert internal.fifo(x, 0) is x
    with tf.Graph().as_default() as graph:
        internal.fifo(tf.zeros([2]), 3, offload=True)
        (queue,) = [op for op in graph.get_operations() if op.type == "FIFOQueueV2"]
        assert facts.recorded(queue) == {"fifo_depth": 3, "offload": True, "own_state": True}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_barrier_gives_the_same_tensors_and_gradients(backwards):
    x, y = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        passed = internal.barrier({"a": x * 2, "b": y * 3}, insert_barrier_for_gradients=backwards)
        loss = tf.reduce_sum(passed["a"]) * passed["b"]
    np.testing.assert_array_equal(passed["a"], [2, 4])
    for_x, for_y = tape.gradient(loss, [x, y])
    np.testing.assert_array_equal(for_x, [18, 18])
    assert float(for_y) == 18


def test_a_barrier_waits_for_all_of_its_tensors():
    with tf.Graph().as_default():
        first, second = tf.square(2.0), tf.exp(1.0)
        (passed, _) = internal.barrier([first, second])
        waits = {op.name for control in passed.op.control_inputs for op in control.control_inputs}
        assert {first.op.name, second.op.name} <= waits


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tensor_is_printed_with_its_name(compiled, capfd):
    def run(x):
        internal.print_tensor(x, "rows")
        return x

    (tf.function(run) if compiled else run)(tf.constant([[1.0, 2.5], [3.0, 4.0]]))
    printed = capfd.readouterr().err
    assert "rows: [[1.  2.5]" in printed
    assert "[3.  4. ]]" in printed


def test_the_iteration_counter_is_that_of_the_loop_around():
    assert int(internal.get_current_iteration_counter()) == 0
    with internal.counting(tf.constant(3)):
        counter = internal.get_current_iteration_counter()
    assert int(counter) == 3
    assert counter.dtype == tf.int32


def test_remapping_copies():
    x = tf.constant([1, 2, 3])
    np.testing.assert_array_equal(internal.remap(x), x)
    np.testing.assert_array_equal(internal.remap_deduce(x), x)
