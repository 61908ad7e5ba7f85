"""Programs on several replicas: each has its own variables, elements and random numbers, and exchanges are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu

from tremula.frontends.tensorflow.replicas import collectives
from tremula.frontends.tensorflow.replicas.program import DeviceFunction
from tremula.frontends.tensorflow.replicas.variables import broadcast


def numbers(count: int = 200) -> Any:
    """A queue of the numbers from 0 up."""
    queue = ipu.ipu_infeed_queue.IPUInfeedQueue(
        tf.data.Dataset.range(count).map(lambda x: tf.cast(x, tf.float32))
    )
    queue.initializer
    return queue


def on_replicas(function: Any, replicas: int, *args: Any) -> Any:
    """What a function gives on so many replicas."""
    return DeviceFunction(function, replicas=replicas)(*args)


class TestCollectives:
    @pytest.mark.parametrize("replicas", [1, 2, 4])
    def test_a_sum_is_taken_over_all_replicas(self, replicas: int) -> None:
        result = on_replicas(
            lambda: collectives.cross_replica_sum(collectives.replication_index() + 1), replicas
        )
        assert result == sum(range(1, replicas + 1))

    def test_groups_are_consecutive_replicas(self) -> None:
        def program() -> Any:
            return collectives.gather(collectives.cross_replica_sum(collectives.replication_index(), 2))

        np.testing.assert_array_equal(on_replicas(program, 4), [1, 1, 5, 5])

    def test_a_group_size_that_does_not_divide_the_replicas_is_refused(self) -> None:
        with pytest.raises(ValueError, match="multiple of the group size"):
            on_replicas(lambda: collectives.cross_replica_sum(tf.constant(1.0), 3), 4)

    def test_a_mean_divides_by_the_replicas(self) -> None:
        result = on_replicas(
            lambda: collectives.cross_replica_mean(tf.cast(collectives.replication_index(), tf.float32)), 4
        )
        assert result == 1.5

    @given(st.integers(1, 4), st.integers(1, 9), st.sampled_from(["ADD", "MAX", "MEAN"]))
    @settings(max_examples=12)
    def test_reduce_scatter_gives_each_replica_its_part_padded(
        self, replicas: int, length: int, op: str
    ) -> None:
        data = np.arange(replicas * length, dtype=np.float32).reshape(replicas, length)

        def program() -> Any:
            mine = tf.constant(data)[collectives.replication_index()]
            return collectives.gather(collectives.reduce_scatter(mine, replicas, f"COLLECTIVE_OP_{op}"))

        reduced = {"ADD": data.sum(0), "MAX": data.max(0), "MEAN": data.mean(0)}[op]
        part = -(-length // replicas)
        expected = np.pad(reduced, (0, part * replicas - length)).reshape(replicas, part)
        np.testing.assert_allclose(on_replicas(program, replicas), expected)

    @pytest.mark.parametrize("replicas", [2, 4])
    def test_all_to_all_transposes_parts_and_replicas(self, replicas: int) -> None:
        data = np.arange(replicas * replicas * 2, dtype=np.float32).reshape(replicas, replicas, 2)

        def program() -> Any:
            mine = tf.constant(data)[collectives.replication_index()]
            return collectives.gather(collectives.all_to_all(mine, 0, 0, replicas))

        np.testing.assert_array_equal(on_replicas(program, replicas), data.transpose(1, 0, 2))

    def test_the_gradient_of_a_sum_is_summed(self) -> None:
        def program() -> Any:
            x = tf.cast(collectives.replication_index(), tf.float32)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = collectives.cross_replica_sum(x) * (x + 1)
            return collectives.gather(tape.gradient(y, x))

        # dy/dx = sum over replicas of the factors (1 + 2), plus the sum of all x (1)
        np.testing.assert_array_equal(on_replicas(program, 2), [4, 4])


class TestVariables:
    def test_each_replica_keeps_its_own_from_run_to_run(self) -> None:
        total = tf.Variable(0.0)
        queue = numbers()

        def program() -> Any:
            ipu.loops.repeat(2, lambda x: total.assign_add(x).op, [], queue)
            return collectives.gather(total)

        run = DeviceFunction(program, replicas=2)
        np.testing.assert_array_equal(run(), [0 + 2, 1 + 3])
        np.testing.assert_array_equal(run(), [2 + 4 + 6, 4 + 5 + 7])
        assert total.numpy() == 12  # the host sees replica 0

    def test_what_the_host_writes_goes_to_all_replicas(self) -> None:
        total = tf.Variable(0.0)

        def program() -> Any:
            total.assign_add(tf.cast(collectives.replication_index(), tf.float32))
            return collectives.gather(total)

        run = DeviceFunction(program, replicas=3)
        np.testing.assert_array_equal(run(), [0, 1, 2])
        total.assign(10.0)
        np.testing.assert_array_equal(run(), [10, 11, 12])

    def test_broadcast_resets_replicas_whose_host_value_did_not_change(self) -> None:
        total = tf.Variable(0.0)

        def program() -> Any:
            total.assign_add(tf.cast(collectives.replication_index(), tf.float32))
            return collectives.gather(total)

        run = DeviceFunction(program, replicas=2)
        run()
        broadcast([total])
        np.testing.assert_array_equal(run(), [0, 1])

    def test_a_variable_that_is_only_read_has_no_copies(self) -> None:
        weight = tf.Variable(3.0)
        assert on_replicas(lambda: collectives.cross_replica_sum(weight * 2), 4) == 24
        assert not hasattr(weight, "_tremula_replica_copies")


class TestRandomNumbers:
    def test_replicas_draw_different_numbers(self) -> None:
        drawn = on_replicas(lambda: collectives.gather(tf.random.uniform([4], seed=3)), 3).numpy()
        assert len(np.unique(drawn)) == drawn.size

    def test_a_seed_gives_the_same_numbers_in_every_program(self) -> None:
        tf.random.set_seed(1)
        first = on_replicas(lambda: collectives.gather(tf.random.uniform([4], seed=3)), 2).numpy()
        tf.random.set_seed(1)
        second = on_replicas(lambda: collectives.gather(tf.random.uniform([4], seed=3)), 2).numpy()
        np.testing.assert_array_equal(first, second)

    def test_generators_have_a_stream_for_each_replica(self) -> None:
        generator = tf.random.Generator.from_seed(5)
        drawn = on_replicas(lambda: collectives.gather(generator.uniform([4])), 3).numpy()
        assert len(np.unique(drawn)) == drawn.size


class TestControlFlow:
    @given(st.integers(1, 4), st.integers(0, 5))
    @settings(max_examples=10)
    def test_loops_of_each_replica_end_on_their_own(self, replicas: int, least: int) -> None:
        def program(least: Any) -> Any:
            steps = tf.while_loop(
                lambda n: n < least + collectives.replication_index(), lambda n: n + 1, [tf.constant(0)]
            )
            return collectives.gather(steps[0])

        np.testing.assert_array_equal(
            on_replicas(program, replicas, tf.constant(least)), [least + r for r in range(replicas)]
        )

    def test_branches_of_each_replica_are_their_own(self) -> None:
        def program() -> Any:
            index = collectives.replication_index()
            return collectives.gather(tf.cond(index > 0, lambda: index * 10, lambda: index - 7))

        np.testing.assert_array_equal(on_replicas(program, 3), [-7, 10, 20])

    def test_loops_may_exchange_data(self) -> None:
        def program() -> Any:
            value = tf.cast(collectives.replication_index(), tf.float32)
            for _ in tf.range(3):
                value = collectives.cross_replica_sum(value) - value
            return collectives.gather(value)

        values = np.array([0.0, 1.0])
        for _ in range(3):
            values = values.sum() - values
        np.testing.assert_array_equal(on_replicas(program, 2), values)

    def test_functions_inside_are_copied_as_well(self) -> None:
        @tf.function
        def inner(x: Any) -> Any:
            return collectives.cross_replica_sum(x) + tf.cast(collectives.replication_index(), tf.float32)

        np.testing.assert_array_equal(
            on_replicas(lambda: collectives.gather(inner(tf.constant(1.0))), 3), [3, 4, 5]
        )


@pytest.mark.parametrize("replicas", [1, 2])
def test_xla_compiles_nothing(replicas: int) -> None:
    weight = tf.Variable(1.0)

    @tf.function(jit_compile=True)
    def inner(x: Any) -> Any:
        tf.debugging.assert_equal(tf.strings.as_string(tf.constant(1)), "1")  # XLA has no texts
        weight.assign_add(1.0)
        return x * 2

    def program(x: Any) -> Any:
        for _ in tf.range(3):
            x = inner(x)
        return collectives.cross_replica_sum(x)

    assert on_replicas(program, replicas, tf.constant(1.0)) == 8 * replicas
    assert weight.numpy() == 4


@given(
    replicas=st.sampled_from([1, 2, 3]),
    steps=st.integers(1, 4),
    rate=st.floats(0.001, 0.1),
    seed=st.integers(0, 1000),
)
@settings(max_examples=8)
def test_training_on_replicas_equals_a_reference(replicas: int, steps: int, rate: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    data = random.normal(size=(replicas * steps, 5, 3)).astype(np.float32)
    start = random.normal(size=(3, 1)).astype(np.float32)
    weight = tf.Variable(start)
    queue = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(data))
    queue.initializer

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weight - 1))
        return weight.assign_sub(rate * collectives.cross_replica_sum(tape.gradient(loss, weight))).op

    on_replicas(lambda: ipu.loops.repeat(steps, step, [], queue), replicas)

    expected = start.astype(np.float64)
    for index in range(steps):
        micro = data[index * replicas : (index + 1) * replicas]
        expected = expected - rate * sum(2 * x.T @ (x @ expected - 1) / 5 for x in micro)
    np.testing.assert_allclose(weight.numpy(), expected, rtol=2e-4, atol=2e-5)
