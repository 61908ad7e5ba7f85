"""One step of a Keras model, traced without its loops: for questions about the model in other sizes."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.framework import func_graph

from tremula.errors import Error
from tremula.frontends.tensorflow.keras import pipeline_run, training_step
from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.replicas import context


def trace_step(model: Any, mode: Mode, specs: Any, micro_batch: int | None = None) -> Any:
    """The graph of a step; nothing runs, but variables of the optimizer and of metrics are made.

    Args:
        model: a model that is built, made under an IPUStrategy or not.
        mode: what the step does.
        specs: the types of a batch.
        micro_batch: samples; None: as in the batch.

    Raises:
        Error: the model cannot be called so.
    """
    flat = [_resized(spec, micro_batch) for spec in tf.nest.flatten(specs)]

    def step(*tensors: Any) -> Any:
        data = tf.nest.pack_sequence_as(specs, list(tensors))
        strategy = model.distribute_strategy
        replica = distribute_lib.ReplicaContext(strategy, replica_id_in_sync_group=0)
        with context.program(1, 0, exact=True), replica:
            return _step(model, mode, data)

    try:
        return func_graph.func_graph_from_py_func("step", step, flat, {})
    except Exception as problem:  # the model is the user's: another size may be anything to it
        raise Error(f"{model.name} cannot be traced: {type(problem).__name__}: {problem}") from problem


def _step(model: Any, mode: Mode, data: Any) -> Any:
    extended = hasattr(model, "_is_pipelined")
    if mode is Mode.FIT:
        if not extended:
            return model.train_step(data)
        results = training_step.train(model, data)
        if model._is_pipelined():
            pipeline_run.mark_backward_pass()
        return results
    if mode is Mode.EVALUATE:
        return training_step.test(model, data) if extended else model.test_step(data)
    return training_step.predict(model, data) if extended else model.predict_step(data)


def _resized(spec: Any, micro_batch: int | None) -> Any:
    sizes = spec.shape.as_list()
    if sizes and micro_batch is not None:
        sizes[0] = micro_batch
    return tf.TensorSpec(sizes, spec.dtype, name=spec.name)
