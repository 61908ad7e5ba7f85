"""Infeed and outfeed queues, iterators and loops in programs of the device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.replicas.program import DeviceFunction

Outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue
Mode = ipu.ipu_outfeed_queue.IPUOutfeedMode


@pytest.fixture
def strategy() -> Iterator[Any]:
    ipu.config.reset_ipu_configuration()
    chosen = ipu.ipu_strategy.IPUStrategy()
    with chosen.scope():
        yield chosen


def floats(count: int, batch: int = 2) -> Any:
    return (
        tf.data.Dataset.range(count).map(lambda x: tf.cast(x, tf.float32)).batch(batch, drop_remainder=True)
    )


class TestInfeed:
    def test_shapes_must_be_fully_defined(self) -> None:
        with pytest.raises(ValueError, match="drop_remainder=True"):
            ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.range(3).batch(2))

    @pytest.mark.parametrize(("depth", "words"), [(0, "greater than zero"), (256, "less than 256")])
    def test_the_prefetch_depth_has_limits(self, depth: int, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            ipu.ipu_infeed_queue.IPUInfeedQueue(floats(4), prefetch_depth=depth)

    def test_whole_numbers_of_64_bits_are_refused(self) -> None:
        queue = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.range(3))
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"int64.*Cast"):
            queue.initializer

    def test_initialising_again_starts_from_the_first_element(self) -> None:
        queue = ipu.ipu_infeed_queue.IPUInfeedQueue(floats(20))

        def program() -> Any:
            return ipu.loops.repeat(2, lambda total, x: total + tf.reduce_sum(x), [0.0], queue)

        run = DeviceFunction(program, replicas=1)
        queue.initializer
        assert run() == 0 + 1 + 2 + 3
        assert run() == 4 + 5 + 6 + 7
        queue.deleter
        queue.initializer
        assert run() == 6

    def test_the_end_of_the_data_is_an_error(self) -> None:
        queue = ipu.ipu_infeed_queue.IPUInfeedQueue(floats(4))
        queue.initializer
        with pytest.raises(tf.errors.OutOfRangeError):
            DeviceFunction(lambda: ipu.loops.repeat(3, lambda x: None, [], queue), replicas=1)()


class TestOutfeed:
    @pytest.mark.parametrize("replicas", [1, 2])
    @pytest.mark.parametrize("structure", [lambda x: x, lambda x: (x, x + 1), lambda x: {"a": x, "b": -x}])
    def test_all_elements_come_in_order_with_an_axis_for_replicas(
        self, replicas: int, structure: Any
    ) -> None:
        queue, results = ipu.ipu_infeed_queue.IPUInfeedQueue(floats(24)), Outfeed()
        queue.initializer
        DeviceFunction(
            lambda: ipu.loops.repeat(3, lambda x: results.enqueue(structure(x)), [], queue), replicas=replicas
        )()
        found = results.dequeue()
        data = np.arange(6 * replicas, dtype=np.float32).reshape((3, replicas, 2) if replicas > 1 else (3, 2))
        tf.nest.map_structure(np.testing.assert_array_equal, found, structure(data))
        tf.nest.map_structure(
            lambda value: value.shape[0] == 0 or pytest.fail("not emptied"), results.dequeue()
        )

    def test_mode_last_keeps_one_element(self) -> None:
        results = Outfeed(Mode.LAST)
        DeviceFunction(
            lambda: ipu.loops.repeat(5, lambda n: (n + 1, results.enqueue(n)), [tf.constant(0)]), replicas=1
        )()
        assert results.dequeue() == 4
        with pytest.raises(tf.errors.FailedPreconditionError, match="Run the program first"):
            results.dequeue()

    def test_a_program_enqueues_once(self) -> None:
        results = Outfeed()

        @tf.function
        def program() -> None:
            results.enqueue(1)
            results.enqueue(2)

        with pytest.raises(ValueError, match="can only be enqueued once"):
            program()

    def test_dequeuing_before_a_program_enqueues_is_an_error(self) -> None:
        results = Outfeed()
        outcome: list[Any] = []
        thread = threading.Thread(target=lambda: outcome.append(results.dequeue()))
        thread.start()
        thread.join()
        assert outcome == [[]]  # another thread may look before the program is traced

    def test_a_thread_may_read_while_the_program_runs(self, strategy: Any) -> None:
        results, found = Outfeed(), []

        @tf.function
        def program() -> None:
            for i in tf.range(300):
                results.enqueue(i)

        def read() -> None:
            while len(found) < 300:
                found.extend(np.asarray(results.dequeue()).ravel().tolist())

        thread = threading.Thread(target=read)
        thread.start()
        strategy.run(program)
        thread.join(timeout=60)
        assert found == list(range(300))


class TestLoops:
    def test_a_body_that_changes_a_type_is_refused(self) -> None:
        with pytest.raises(TypeError, match="Cast what the body returns"):
            DeviceFunction(lambda: ipu.loops.repeat(2, lambda x: tf.cast(x, tf.int32), [1.0]), replicas=1)()

    def test_numbers_of_arguments_are_compared(self) -> None:
        with pytest.raises(TypeError, match=r"You specified 1 inputs.*needs exactly 2 inputs"):
            ipu.loops.repeat(2, lambda x, y: x, [tf.constant(1.0)])

    def test_operations_run_in_every_iteration(self) -> None:
        count = tf.Variable(0)
        run = DeviceFunction(
            lambda: ipu.loops.repeat(4, lambda x: (x * 2.0, count.assign_add(1).op), [1.0]), replicas=1
        )
        assert run() == 16
        assert count.numpy() == 4


class TestStrategy:
    def test_a_plain_function_needs_to_be_a_tf_function(self, strategy: Any) -> None:
        with pytest.raises(ValueError, match="plain Python function"):
            strategy.run(lambda: tf.constant(1))

    def test_double_precision_is_refused_on_both_sides(self, strategy: Any) -> None:
        identity = tf.function(lambda x: x)
        with pytest.raises(TypeError, match="for input: float64"):
            strategy.run(identity, args=(np.float64(1.0),))
        with pytest.raises(TypeError, match="for output: float64"):
            strategy.run(tf.function(lambda x: tf.cast(x, tf.float64)), args=(np.float32(1.0),))

    def test_iterators_in_the_scope_are_the_devices(self, strategy: Any) -> None:
        iterator = iter(floats(20))

        @tf.function(jit_compile=True)
        def program(iterator: Any) -> Any:
            total = 0.0
            for _ in tf.range(3):
                total += tf.reduce_sum(next(iterator))
            return total

        assert strategy.run(program, args=(iterator,)) == sum(range(6))
        with pytest.raises(RuntimeError, match="eagerly"):
            next(iterator)

    def test_a_function_may_run_the_strategy_inside(self, strategy: Any) -> None:
        @tf.function
        def outer() -> Any:
            return strategy.run(lambda x: x * 2, args=(tf.constant(3.0),))

        assert outer() == 6


class TestCompiledGraphs:
    def test_a_training_loop_runs_in_a_session(self) -> None:
        with tf.Graph().as_default():
            queue, results = ipu.ipu_infeed_queue.IPUInfeedQueue(floats(40)), Outfeed()

            def body(total: Any, x: Any) -> Any:
                with tf.compat.v1.variable_scope("vs", use_resource=True):
                    weight = tf.compat.v1.get_variable("w", initializer=1.0)
                loss = tf.reduce_sum(x * weight)
                train = tf.compat.v1.train.GradientDescentOptimizer(0.01).minimize(loss)
                return total + loss, results.enqueue(loss), train

            with ipu.scopes.ipu_scope("/device:IPU:0"):
                [total] = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(3, body, [0.0], queue))
            losses = results.dequeue()
            with tf.compat.v1.Session() as session:
                session.run(queue.initializer)
                session.run(tf.compat.v1.global_variables_initializer())
                weight, expected = 1.0, []
                for x in (1.0, 5.0, 9.0):
                    expected.append(x * weight)
                    weight -= 0.01 * x
                assert session.run(total) == pytest.approx(sum(expected))
                np.testing.assert_allclose(session.run(losses), expected, rtol=1e-6)
                [found] = session.run(tf.compat.v1.global_variables())
                assert found == pytest.approx(weight)

    def test_a_computation_outside_of_an_ipu_scope_is_refused(self) -> None:
        with tf.Graph().as_default(), pytest.raises(Exception, match="not placed on an IPU"):
            ipu.ipu_compiler.compile(lambda: tf.constant(1) + 1)

    def test_replicas_of_a_session_train_on_their_own_elements(self) -> None:
        config = ipu.config.IPUConfig()
        config.auto_select_ipus = 2
        config.configure_ipu_system()
        try:
            with tf.Graph().as_default():
                queue, results = ipu.ipu_infeed_queue.IPUInfeedQueue(floats(40, 1)), Outfeed()
                with tf.compat.v1.variable_scope("vs", use_resource=True):
                    total = tf.compat.v1.get_variable("total", initializer=0.0)

                def body(x: Any) -> Any:
                    summed = ipu.cross_replica_ops.cross_replica_sum(x[0])
                    return results.enqueue((total.assign_add(x[0]), summed))

                with ipu.scopes.ipu_scope("/device:IPU:0"):
                    run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(2, body, [], queue))
                own, summed = results.dequeue()
                assert tf.compat.v1.global_variables() == [total]
                with tf.compat.v1.Session() as session:
                    session.run(queue.initializer)
                    session.run(tf.compat.v1.global_variables_initializer())
                    session.run(run)
                    session.run(run)
                    found, sums = session.run([own, summed])
                    np.testing.assert_array_equal(found, [[0, 1], [2, 4], [6, 9], [12, 16]])
                    np.testing.assert_array_equal(sums[:, 0], [1, 5, 9, 13])
        finally:
            ipu.config.reset_ipu_configuration()
