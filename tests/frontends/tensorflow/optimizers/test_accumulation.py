"""Optimizers that accumulate: in a loop, one update for every group of iterations, as the formula says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu
from tensorflow.python.ipu import optimizers

from tremula.frontends.tensorflow.replicas.program import DeviceFunction

RATE = 0.1
METHODS = ["SUM", "MEAN", "RUNNING_MEAN"]
train = tf.compat.v1.train


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    yield
    ipu.config.reset_ipu_configuration()


def reference(
    elements: Any, count: int, method: str, momentum: float, replicas: int = 1
) -> tuple[list[float], list[float]]:
    """Minimise `(w * x - 1)^2` over groups of elements, in NumPy: the weights after each update, and the losses."""
    weight, velocity, weights, losses = 1.0, 0.0, [], []
    for group in np.reshape(elements, (-1, count, replicas)):
        found = 2 * (weight * group - 1) * group
        losses.extend(((weight * group - 1) ** 2).mean(1))
        total = found.mean(1).sum() / (1 if method == "SUM" else count)
        velocity = momentum * velocity + total
        weight -= RATE * velocity
        weights.append(weight)
    return weights, losses


class Loop:
    """A loop that minimises `(w * x - 1)^2`."""

    def __init__(self, wrap: Any, elements: Any, momentum: float = 0.0) -> None:
        self.weight = tf.Variable(1.0)
        self.updates = tf.Variable(0, dtype=tf.int64)
        self._optimizer = wrap(train.MomentumOptimizer(RATE, momentum))
        self._queue = ipu.ipu_infeed_queue.IPUInfeedQueue(
            tf.data.Dataset.from_tensor_slices(elements.astype(np.float32)).repeat()
        )
        self._queue.initializer

    def body(self, x: Any) -> Any:
        """One iteration."""
        loss = (self.weight * x - 1.0) ** 2
        pairs = self._optimizer.compute_gradients(loss, [self.weight])
        return self._optimizer.apply_gradients(pairs, global_step=self.updates)

    def run(self, iterations: int, replicas: int = 1) -> None:
        """Run so many iterations on each replica."""
        DeviceFunction(lambda: ipu.loops.repeat(iterations, self.body, [], self._queue), replicas=replicas)()


@given(
    count=st.integers(1, 5),
    updates=st.integers(1, 4),
    method=st.sampled_from(METHODS),
    momentum=st.sampled_from([0.0, 0.9]),
    replicas=st.sampled_from([1, 2, 3]),
)
@settings(max_examples=12, deadline=None)
def test_accumulating_trains_like_the_formula(
    count: int, updates: int, method: str, momentum: float, replicas: int
) -> None:
    elements = np.random.default_rng(count).uniform(0, 1, count * updates * replicas)
    loop = Loop(
        lambda opt: optimizers.CrossReplicaGradientAccumulationOptimizerV2(
            opt, count, reduction_method=method
        ),
        elements,
        momentum,
    )
    loop.run(count * updates, replicas)
    weights, _ = reference(elements, count, method, momentum, replicas)
    np.testing.assert_allclose(loop.weight.numpy(), weights[-1], rtol=1e-4)
    assert loop.updates.numpy() == updates


@pytest.mark.parametrize("cross", [False, True])
def test_the_first_form_sums(cross: bool) -> None:
    kind = (
        optimizers.CrossReplicaGradientAccumulationOptimizer
        if cross
        else optimizers.GradientAccumulationOptimizer
    )
    elements = np.linspace(0, 1, 6)
    loop = Loop(lambda opt: kind(opt, 3), elements, 0.9)
    loop.run(6)
    np.testing.assert_allclose(loop.weight.numpy(), reference(elements, 3, "SUM", 0.9)[0][-1], rtol=1e-5)


def test_each_run_of_the_loop_begins_with_empty_accumulators() -> None:
    elements = np.linspace(0, 1, 8)
    loop = Loop(lambda opt: optimizers.GradientAccumulationOptimizerV2(opt, 4), elements)
    loop.run(4)
    loop.run(4)
    np.testing.assert_allclose(loop.weight.numpy(), reference(elements, 4, "SUM", 0)[0][-1], rtol=1e-5)


def test_loops_of_autograph_are_loops_too() -> None:
    elements = np.linspace(0, 1, 8).astype(np.float32)
    loop = Loop(lambda opt: optimizers.GradientAccumulationOptimizerV2(opt, 4), elements)

    def program() -> None:
        for number in tf.range(8):
            loop.body(tf.constant(elements)[number])

    DeviceFunction(program, replicas=1)()
    np.testing.assert_allclose(loop.weight.numpy(), reference(elements, 4, "SUM", 0)[0][-1], rtol=1e-5)


def test_accumulators_are_in_no_collection() -> None:
    with tf.Graph().as_default() as graph, tf.device("/device:IPU:0"):

        def body() -> Any:
            weight = tf.compat.v1.get_variable("weight", initializer=1.0, use_resource=True)
            opt = optimizers.GradientAccumulationOptimizerV2(train.MomentumOptimizer(RATE, 0.9), 2)
            return opt.minimize(weight**2)

        program = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(4, body))
        names = {variable.name for variable in tf.compat.v1.global_variables()}
        assert names == {"weight:0", "weight/Momentum:0"}
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(program)
            # gradient 2 w: 1 - 0.1 * 4 = 0.6, then velocity 0.9 * 4 + 2.4
            (weight,) = session.run(tf.compat.v1.trainable_variables())
    np.testing.assert_allclose(weight, 0.6 - 0.1 * (3.6 + 2.4), atol=1e-6)


def test_accumulators_have_the_type_that_is_asked_for() -> None:
    seen = []

    class Watching(train.GradientDescentOptimizer):  # type: ignore[misc]
        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            seen.extend(gradient.dtype for gradient, _ in pairs)
            return super().apply_gradients([(tf.cast(g, v.dtype), v) for g, v in pairs], *args, **kwargs)

    loop = Loop(
        lambda _: optimizers.GradientAccumulationOptimizerV2(Watching(RATE), 2, dtype=lambda _: tf.float64),
        np.linspace(0, 1, 2),
    )
    loop.run(2)
    assert seen == [tf.float64]


class TestRefusals:
    def test_iterations_must_be_a_multiple(self) -> None:
        loop = Loop(lambda opt: optimizers.GradientAccumulationOptimizerV2(opt, 4), np.ones(4))
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Detected a gradient accumulation operation with 4"
        ):
            loop.run(6)
        assert loop.weight.numpy() == 1.0

    def test_it_must_be_in_a_loop(self) -> None:
        loop = Loop(lambda opt: optimizers.GradientAccumulationOptimizerV2(opt, 4), np.ones(4))
        with pytest.raises(tf.errors.FailedPreconditionError, match="outside of a loop"):
            DeviceFunction(lambda: loop.body(tf.constant(1.0)), replicas=1)()

    @pytest.mark.parametrize(
        "kind",
        [
            optimizers.GradientAccumulationOptimizer,
            optimizers.GradientAccumulationOptimizerV2,
            optimizers.CrossReplicaGradientAccumulationOptimizer,
            optimizers.CrossReplicaGradientAccumulationOptimizerV2,
        ],
    )
    def test_a_count_below_one_is_refused(self, kind: Any) -> None:
        with pytest.raises(ValueError, match="must be a positive number"):
            kind(train.GradientDescentOptimizer(RATE), 0)

    def test_the_first_form_refuses_other_optimizers_unless_told_not_to(self) -> None:
        with pytest.raises(ValueError, match="use GradientAccumulationOptimizerV2"):
            optimizers.GradientAccumulationOptimizer(train.AdamOptimizer(), 2)
        optimizers.GradientAccumulationOptimizer(train.AdamOptimizer(), 2, verify_usage=False)

    def test_keras_optimizers_have_wrappers_of_their_own(self) -> None:
        with pytest.raises(ValueError, match=r"keras\.ipu\.optimizers"):
            optimizers.IpuOptimizer(tf.keras.optimizers.SGD())
        with pytest.raises(ValueError, match=r"keras\.ipu\.optimizers"):
            optimizers.CrossReplicaOptimizer(tf.keras.optimizers.legacy.SGD())

    def test_sharded_state_must_be_offloaded(self) -> None:
        with pytest.raises(ValueError, match="must be offloaded"):
            optimizers.GradientAccumulationOptimizerV2(train.GradientDescentOptimizer(RATE), 2, False, True)
