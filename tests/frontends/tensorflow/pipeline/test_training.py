"""Pipelines train as gradient descent over their micro-batches does, whatever the stages, counts and optimizers are."""

from __future__ import annotations

from typing import Any

import chains
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu
from tensorflow.python.ipu import pipelining_ops
from tensorflow.python.ipu.optimizers import CrossReplicaOptimizer

from tremula.frontends.tensorflow.replicas.program import DeviceFunction

METHODS = ["SUM", "MEAN", "RUNNING_MEAN"]
SCHEDULES = list(pipelining_ops.PipelineSchedule)
train = tf.compat.v1.train
#: how an optimizer is made, and its rule in NumPy
OPTIMIZERS = {
    "tf1 descent": (lambda: train.GradientDescentOptimizer(chains.RATE), chains.descent),
    "tf1 momentum": (lambda: train.MomentumOptimizer(chains.RATE, 0.9), chains.momentum),
    "tf1 adam": (lambda: train.AdamOptimizer(chains.RATE, epsilon=chains.EPSILON), chains.adam),
    "keras descent": (lambda: tf.keras.optimizers.SGD(chains.RATE), chains.descent),
    "keras adam": (lambda: tf.keras.optimizers.Adam(chains.RATE, epsilon=chains.EPSILON), chains.adam),
    "legacy momentum": (lambda: tf.keras.optimizers.legacy.SGD(chains.RATE, 0.9), chains.momentum),
}


class Pipeline:
    """A chain that is trained as a pipeline.

    Args:
        replicas: how many replicas the IPUs are for.
        tape: whether a tape finds the variables of a Keras optimizer.
        options: of the pipeline.
    """

    def __init__(
        self,
        stages: int,
        count: int,
        repeats: int,
        optimizer: str,
        replicas: int = 1,
        *,
        tape: bool = False,
        **options: Any,
    ) -> None:
        config = ipu.config.IPUConfig()
        config.auto_select_ipus = replicas * (1 << (stages - 1).bit_length())
        config.configure_ipu_system()
        self.strategy = ipu.ipu_strategy.IPUStrategy()
        xs, ys = chains.data(count * repeats * replicas)
        with self.strategy.scope():
            self.weights = [tf.Variable(weight) for weight in chains.starting_weights(stages)]
            self.infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(
                tf.data.Dataset.from_tensor_slices((xs, ys)).repeat()
            )
            self.outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        # in the scope, Keras' optimizers would be the old ones
        self.optimizer = OPTIMIZERS[optimizer][0]()
        self.infeed.initializer
        self._tape = tape
        self._options = {
            "gradient_accumulation_count": count,
            "repeat_count": repeats,
            "pipeline_schedule": pipelining_ops.PipelineSchedule.Sequential,
            "outfeed_loss": True,
            **options,
        }

    def stages(self) -> list[Any]:
        """A product each; the last one gives the loss."""

        def stage(index: int) -> Any:
            def run(x: Any, y: Any) -> Any:
                x = x @ self.weights[index]
                if index < len(self.weights) - 1:
                    return x, y
                return 0.5 * tf.reduce_sum((x - y) ** 2)

            return run

        return [stage(index) for index in range(len(self.weights))]

    def program(self) -> None:
        """The program of the device."""
        with tf.GradientTape() as tape:
            pipelining_ops.pipeline(
                self.stages(),
                infeed_queue=self.infeed,
                outfeed_queue=self.outfeed,
                optimizer_function=lambda loss: self._output(loss, tape),
                **self._options,
            )

    def run(self) -> Any:
        """Train; gives the losses of all micro-batches."""
        with self.strategy.scope():
            self.strategy.run(tf.function(self.program))
        return self.outfeed.dequeue()

    def _output(self, loss: Any, tape: Any) -> Any:
        if isinstance(self.optimizer, train.Optimizer):
            in_strategy = tf.distribute.has_strategy()
            opt = self.optimizer if in_strategy else CrossReplicaOptimizer(self.optimizer)
            return pipelining_ops.OptimizerFunctionOutput(
                opt, loss, compute_gradients_kwargs={"var_list": self.weights}
            )
        if self._tape:
            return pipelining_ops.OptimizerFunctionOutput(self.optimizer, loss, tape=tape)
        return pipelining_ops.OptimizerFunctionOutput(self.optimizer, loss, variables=self.weights)

    def check(self, expected: chains.Training, losses: Any) -> None:
        """Losses and weights are the expected ones."""
        np.testing.assert_allclose(losses, expected.losses, rtol=2e-4, atol=1e-5)
        for weight, wanted in zip(self.weights, expected.weights, strict=True):
            np.testing.assert_allclose(weight.numpy(), wanted, rtol=2e-4, atol=1e-5)


@given(
    stages=st.integers(2, 4),
    count=st.integers(1, 5),
    repeats=st.integers(1, 3),
    method=st.sampled_from(METHODS),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    tape=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_a_pipeline_trains_like_the_formula(
    stages: int, count: int, repeats: int, method: str, optimizer: str, tape: bool
) -> None:
    pipeline = Pipeline(stages, count, repeats, optimizer, tape=tape, reduction_method=method)
    losses = pipeline.run()
    rule = OPTIMIZERS[optimizer][1]
    pipeline.check(chains.trained(stages, count, repeats, method, rule), losses)


@given(
    stages=st.integers(2, 4),
    count=st.integers(1, 4),
    repeats=st.integers(1, 3),
    method=st.sampled_from(METHODS),
    replicas=st.sampled_from([2, 4]),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
)
@settings(max_examples=8, deadline=None)
def test_replicas_train_on_the_sum_of_their_gradients_under_a_strategy(
    stages: int, count: int, repeats: int, method: str, replicas: int, optimizer: str
) -> None:
    pipeline = Pipeline(stages, count, repeats, optimizer, replicas, reduction_method=method)
    losses = pipeline.run()
    rule = OPTIMIZERS[optimizer][1]
    expected = chains.trained(stages, count, repeats, method, rule, replicas, lambda g: np.sum(g, axis=0))
    pipeline.check(expected, losses)


def test_the_wrapper_for_replicas_takes_means_outside_of_a_strategy() -> None:
    pipeline = Pipeline(2, 4, 2, "tf1 momentum", 2)
    DeviceFunction(pipeline.program)()
    expected = chains.trained(2, 4, 2, "SUM", chains.momentum, 2, lambda g: np.mean(g, axis=0))
    pipeline.check(expected, pipeline.outfeed.dequeue())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_do_not_depend_on_the_schedule(schedule: Any) -> None:
    pipeline = Pipeline(3, 6, 2, "tf1 momentum", pipeline_schedule=schedule)
    losses = pipeline.run()
    pipeline.check(chains.trained(3, 6, 2, "SUM", chains.momentum), losses)


def test_a_second_run_goes_on_where_the_first_ended() -> None:
    pipeline = Pipeline(2, 4, 2, "tf1 momentum")
    pipeline._options["repeat_count"] = 1
    program = tf.function(pipeline.program)
    for _ in range(2):
        with pipeline.strategy.scope():
            pipeline.strategy.run(program)
    pipeline.check(chains.trained(2, 4, 2, "SUM", chains.momentum), pipeline.outfeed.dequeue())


def test_serialised_batches_multiply_the_micro_batches() -> None:
    # all stages are on one IPU then: more would be more replicas
    pipeline = Pipeline(2, 6, 2, "tf1 descent")
    pipeline._options |= {"gradient_accumulation_count": 3, "batch_serialization_iterations": 2}
    ipu.config.IPUConfig().configure_ipu_system()
    losses = pipeline.run()
    pipeline.check(chains.trained(2, 6, 2, "SUM", chains.descent), losses)


def test_the_count_may_be_a_tensor() -> None:
    pipeline = Pipeline(2, 4, 2, "tf1 descent")
    pipeline._options |= {"gradient_accumulation_count": tf.constant(4)}
    losses = pipeline.run()
    pipeline.check(chains.trained(2, 4, 2, "SUM", chains.descent), losses)


def test_the_learning_rate_may_pass_through_the_stages() -> None:
    pipeline = Pipeline(2, 4, 2, "tf1 descent")
    first, second = pipeline.stages()

    def carrying_first(rate: Any, x: Any, y: Any) -> Any:
        return (rate * 2, *first(x, y))

    def carrying_second(rate: Any, x: Any, y: Any) -> Any:
        return rate / 2, second(x, y)

    def output(rate: Any, loss: Any) -> Any:
        return pipelining_ops.OptimizerFunctionOutput(
            train.GradientDescentOptimizer(rate),
            loss,
            compute_gradients_kwargs={"var_list": pipeline.weights},
        )

    @tf.function
    def program(rate: Any) -> None:
        pipelining_ops.pipeline(
            [carrying_first, carrying_second],
            inputs=[rate],
            infeed_queue=pipeline.infeed,
            outfeed_queue=pipeline.outfeed,
            optimizer_function=output,
            **pipeline._options,
        )

    with pipeline.strategy.scope():
        pipeline.strategy.run(program, [tf.constant(chains.RATE)])
    pipeline.check(chains.trained(2, 4, 2, "SUM", chains.descent), pipeline.outfeed.dequeue())


def test_accumulators_have_the_type_that_is_asked_for() -> None:
    pipeline = Pipeline(2, 2, 1, "tf1 descent")
    seen = []

    class Watching(train.GradientDescentOptimizer):  # type: ignore[misc]
        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            seen.extend(gradient.dtype for gradient, _ in pairs)
            cast = [(tf.cast(gradient, tf.float32), variable) for gradient, variable in pairs]
            return super().apply_gradients(cast, *args, **kwargs)

    pipeline.optimizer = Watching(chains.RATE)
    first = pipeline.weights[0]
    pipeline._options["gradient_accumulation_dtype"] = lambda v: tf.float64 if v is first else tf.float32
    losses = pipeline.run()
    assert seen == [tf.float64, tf.float32]
    pipeline.check(chains.trained(2, 2, 1, "SUM", chains.descent), losses)


def test_the_outfeed_may_get_one_sum_for_each_update() -> None:
    pipeline = Pipeline(2, 4, 3, "tf1 descent", accumulate_outfeed=True)
    expected = chains.trained(2, 4, 3, "SUM", chains.descent)
    np.testing.assert_allclose(pipeline.run(), np.sum(np.reshape(expected.losses, (3, 4)), 1), rtol=1e-4)


def test_masked_outputs_are_kept_from_the_outfeed() -> None:
    pipeline = Pipeline(2, 4, 1, "tf1 descent", outfeed_loss=False, outfeed_mask=[False])
    (losses,) = pipeline.run()
    pipeline.check(chains.trained(2, 4, 1, "SUM", chains.descent), losses)


def test_stage_functions_are_traced_once() -> None:
    pipeline = Pipeline(2, 4, 3, "keras descent")
    calls = []
    stages = pipeline.stages()
    pipeline.stages = lambda: [lambda x, y: (calls.append(0), stages[0](x, y))[1], stages[1]]  # type: ignore[method-assign]
    pipeline.optimizer.build(pipeline.weights)
    pipeline.run()
    assert len(calls) == 1


def test_an_error_in_a_stage_leaves_the_weights_as_they_were() -> None:
    pipeline = Pipeline(2, 4, 3, "tf1 momentum")
    good = pipeline.stages()

    def bad(x: Any, y: Any) -> Any:
        raise ValueError("stage 1 fails")

    pipeline.stages = lambda: [good[0], bad]  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="stage 1 fails"):
        pipeline.run()
    for weight, start in zip(pipeline.weights, chains.starting_weights(2), strict=True):
        np.testing.assert_array_equal(weight.numpy(), start)


def test_a_count_that_does_not_fill_the_pipeline_changes_nothing() -> None:
    pipeline = Pipeline(2, 6, 1, "tf1 descent", pipeline_schedule=pipelining_ops.PipelineSchedule.Grouped)
    with pytest.raises(tf.errors.FailedPreconditionError, match="must be a multiple of 4"):
        pipeline.run()
    for weight, start in zip(pipeline.weights, chains.starting_weights(2), strict=True):
        np.testing.assert_array_equal(weight.numpy(), start)
