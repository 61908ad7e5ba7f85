"""The device programs of a Keras model: a loop of steps for `fit`, `evaluate` and `predict`.

A program makes `steps_per_execution` steps without the host. Results are those of the metrics after the last step; only
asynchronous callbacks get those of each step, through an outfeed queue.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.framework import func_graph

from tremula.frontends.tensorflow.keras import pipeline_run, training_step
from tremula.frontends.tensorflow.keras.array_feed import ArrayFeed
from tremula.frontends.tensorflow.keras.metric_reduction import ReplicatedMetricReductionMethod, reduced
from tremula.frontends.tensorflow.replicas import collectives, context
from tremula.frontends.tensorflow.replicas.program import DeviceFunction
from tremula.frontends.tensorflow.stock_keras import internal

_Model = internal("engine.training").Model


class Mode(Enum):
    """What a program is for."""

    FIT = "train"
    EVALUATE = "test"
    PREDICT = "predict"


def program(model: Any, mode: Mode, replicas: int, accumulation: int, outfeed: Any) -> DeviceFunction:
    """The program of a model: a function of the data and the number of steps.

    Args:
        model: an extended model that is built.
        mode: what it is for.
        replicas: on how many replicas it runs.
        accumulation: steps per update of the weights, in training.
        outfeed: a queue that gets the results of each step; None for those of the last alone.
    """
    strategy = model.distribute_strategy
    build = _predict if mode is Mode.PREDICT else _train if mode is Mode.FIT else _test

    def run(feed: Any, steps: Any) -> Any:
        replica = distribute_lib.ReplicaContext(strategy, replica_id_in_sync_group=0)
        with replica, tf.device(strategy.extended.non_slot_devices(None)):
            results = build(model, feed, steps, accumulation, outfeed)
            counter = getattr(model, f"_{mode.value}_counter")
            counter.assign_add(tf.cast(steps, counter.dtype))
            return results

    return DeviceFunction(run, replicas=replicas, ordinal=strategy._device_ordinal, autograph=False)


def _batch(feed: Any, step: Any) -> Any:
    return feed.batch(step) if isinstance(feed, ArrayFeed) else next(feed)


class Results:
    """What becomes of the results of steps.

    Args:
        model: the model.
        step: makes a step without an effect on anything, to learn what results look like.
        own: whether results are more than the state of the model's metrics, so that those of the last step are kept.
        mean_of: the mean over so many steps is taken instead; None: not.
        outfeed: gets those of each step.
        first: the number of the first result among the outputs of a pipeline.
    """

    def __init__(
        self, model: Any, step: Callable[[], Any], own: bool, mean_of: Any, outfeed: Any, first: int
    ) -> None:
        self._model, self._outfeed, self._first = model, outfeed, first
        self._mean_of = mean_of
        self._like = _outputs_like(step) if own or mean_of is not None else None

    @property
    def of_each_step(self) -> bool:
        """Whether the results of each step are needed; else metrics alone know them."""
        return self._outfeed is not None or self._like is not None

    def start(self) -> Any:
        """What a loop carries at first."""
        if self._like is None:
            return ()
        if self._mean_of is None:
            return tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), self._like)
        types = pipeline_run.outfeed_dtypes(self._model, self._like, self._first)
        return tf.nest.map_structure(lambda spec, dtype: tf.zeros(spec.shape, dtype), self._like, types)

    def after(self, carried: Any, values: Any, number: Any) -> Any:
        """What it carries after a step."""
        if self._outfeed is not None:
            none = self._model._replicated_metric_reduction_method is ReplicatedMetricReductionMethod.NONE
            self._outfeed.enqueue(values if none else self._shown(values))
        if self._like is None:
            return ()
        if self._mean_of is None:
            return tf.nest.map_structure(tf.convert_to_tensor, values)

        def add(total: Any, value: Any) -> Any:
            before = tf.where(number == 0, tf.zeros_like(total), total)
            return before + tf.cast(value / tf.cast(self._mean_of, value.dtype), total.dtype)

        return tf.nest.map_structure(add, carried, values)

    def final(self, carried: Any) -> Any:
        """What the host gets after the last step."""
        return self._shown(self._model.get_metrics_result() if self._like is None else carried)

    def _shown(self, values: Any) -> Any:
        return reduced(values, self._model._replicated_metric_reduction_method)


def _train(model: Any, feed: Any, steps: Any, accumulation: int, outfeed: Any) -> Any:
    own = type(model).compute_metrics is not _Model.compute_metrics
    mean_of = accumulation if model._is_pipelined() and model._pipelining_accumulate_outfeed else None
    # output 0 of a pipeline that trains is the loss
    results = Results(model, lambda: training_step.train(model, _batch(feed, 0)), own, mean_of, outfeed, 1)
    whole_updates = accumulation > 1 or model._is_pipelined()

    def body(first: Any, carried: Any) -> tuple[Any, Any]:
        if whole_updates:
            carried = training_step.train_accumulated(
                model, lambda step: _batch(feed, step), first, accumulation, results
            )
        else:
            values = training_step.train(model, _batch(feed, first), shown=results.of_each_step)
            carried = results.after(carried, values, first)
        return first + accumulation, carried

    return results.final(_loop(steps, body, results.start()))


def _test(model: Any, feed: Any, steps: Any, accumulation: int, outfeed: Any) -> Any:
    stock = (
        type(model).compute_metrics is _Model.compute_metrics and type(model).test_step is _Model.test_step
    )
    mean_of = steps if model._is_pipelined() and model._pipelining_accumulate_outfeed else None
    results = Results(
        model, lambda: training_step.test(model, _batch(feed, 0)), not stock, mean_of, outfeed, 0
    )

    held = pipeline_run.held_state(model, lambda: training_step.test(model, _batch(feed, 0)), training=False)
    before = [tf.identity(variable) for variable in held]

    def body(step: Any, carried: Any) -> tuple[Any, Any]:
        with pipeline_run.held(held, before):
            values = training_step.test(model, _batch(feed, step))
        return step + 1, results.after(carried, values, step)

    return results.final(_loop(steps, body, results.start()))


def _predict(model: Any, feed: Any, steps: Any, accumulation: int, outfeed: Any) -> Any:
    replicas = context.replica_count()
    like = _outputs_like(lambda: training_step.predict(model, _batch(feed, 0)))
    arrays = [tf.TensorArray(spec.dtype, size=steps) for spec in tf.nest.flatten(like)]

    def body(step: Any, written: Any) -> tuple[Any, Any]:
        outputs = training_step.predict(model, _batch(feed, step))
        if outfeed is not None:
            outfeed.enqueue(outputs)
        flat = [tf.convert_to_tensor(value) for value in tf.nest.flatten(outputs)]
        if replicas > 1:
            flat = [collectives.gather(value, replicas) for value in flat]
        return step + 1, [array.write(step, value) for array, value in zip(written, flat, strict=True)]

    arrays = _loop(steps, body, arrays)
    # steps, then replicas, then samples: the order of the data
    merged = [
        tf.reshape(array.stack(), [-1, *spec.shape[1:]])
        for array, spec in zip(arrays, tf.nest.flatten(like), strict=True)
    ]
    return tf.nest.pack_sequence_as(like, merged)


def _loop(steps: Any, body: Callable[..., Any], carried: Any) -> Any:
    """Run `body(step, carried)` until `steps` steps are made; what it carries then."""
    # one iteration at a time: steps depend on each other, and the order of effects must be that of the device
    return tf.while_loop(
        lambda step, *_: step < steps, body, [tf.constant(0), carried], parallel_iterations=1
    )[1]


def _outputs_like(function: Callable[[], Any]) -> Any:
    """The types of what a function gives, traced for nothing else."""
    graph = func_graph.func_graph_from_py_func("results", function, (), {})
    return tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), graph.structured_outputs)
