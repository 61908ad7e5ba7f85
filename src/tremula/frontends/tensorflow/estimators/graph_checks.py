"""What a model of an estimator must not do, or must do, found in the graph that it has built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph

from tremula import log
from tremula.frontends.tensorflow.replicas.analysis import (
    READS,
    Analysis,
    attribute,
    function_inputs,
    is_collective,
)
from tremula.frontends.tensorflow.replicas.collectives import COLLECTIVE_ATTRIBUTE, COUNT, GATHER, INDEX


def check_training(graph: Any, replicas: int) -> None:
    """Check the graph of a training step.

    Raises:
        ValueError: it advances the global step, or there are replicas that exchange nothing.
    """
    step = tf.compat.v1.train.get_global_step()
    if step is not None and any(resource is step.handle for resource in written(graph)):
        raise ValueError(
            "Illegal increment of the `global_step` variable in the `model_fn`. The estimator advances it, by "
            "iterations_per_loop for each run: do not pass global_step to Optimizer.minimize()."
        )
    if replicas > 1 and not _adds_over_replicas(graph, Analysis()):
        raise ValueError(
            f"This is not a valid replicated training graph: {replicas} replicas train the model, and nothing is added "
            "up over them, so their weights would drift apart. Wrap the optimizer in "
            "ipu.optimizers.CrossReplicaOptimizer."
        )


def check_inference(graph: Any, mode: str) -> None:
    """Warn if the graph of an evaluation or prediction step changes weights."""
    weights = {id(variable.handle): variable for variable in tf.compat.v1.trainable_variables()}
    changed = [weights[id(resource)].name for resource in written(graph) if id(resource) in weights]
    if changed:
        log.warn_once(
            f"weights change in mode {mode}: {changed[0]}",
            f"The model_fn changes weights in mode {mode!r} ({', '.join(sorted(set(changed))[:3])}): each step is "
            "computed with other weights than those of the checkpoint. Build the update only if "
            "mode == tf.estimator.ModeKeys.TRAIN.",
        )


def note_summaries(graph: Any) -> None:
    """Say that summaries of a model are not written."""
    if any(op.type.endswith(("Summary", "SummaryV2")) for op in graph.get_operations()):
        log.no_effect(
            "tf.summary inside a model_fn",
            "the device writes no summaries; the loss and the evaluation metrics are written. Give tensors to the host "
            "with host_call, eval_metrics or an IPULoggingTensorHook",
        )


def written(graph: Any) -> Iterator[Any]:
    """The resources outside of a graph that its ops may change."""
    known = Analysis()
    for op in graph.get_operations():
        inner = known.op_effects(op)
        for position, tensor in enumerate(function_inputs(op) if inner else op.inputs):
            if tensor.dtype == tf.resource and (
                any(position in each.writes for each in inner) if inner else op.type not in READS
            ):
                yield _outside(tensor)


def _outside(tensor: Any) -> Any:
    """The tensor that an argument of nested functions stands for."""
    while isinstance(tensor.graph, func_graph.FuncGraph):
        outer = next((external for external, internal in tensor.graph.captures if internal is tensor), None)
        if outer is None:
            break
        tensor = outer
    return tensor


def _adds_over_replicas(graph: Any, known: Analysis) -> bool:
    for op in graph.get_operations():
        if is_collective(op) and not attribute(op, COLLECTIVE_ATTRIBUTE).startswith((INDEX, GATHER, COUNT)):
            return True
        if any(_adds_over_replicas(inner, known) for inner in known.graphs(op)):
            return True
    return False
