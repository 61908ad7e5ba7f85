"""A pipelined Keras model on the host: its stages one after the other, for each micro-batch.

All schedules of a pipeline compute the same, so a pipelined training step is a step with gradient accumulation in which
`call_in_stages` takes the place of the call of the model. Ops carry their stage and IPU (`pipeline/facts.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph
from tensorflow.python.platform import tf_logging

from tremula import log
from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.keras.pipeline_order import Call
from tremula.frontends.tensorflow.pipeline import accumulate, facts
from tremula.frontends.tensorflow.stock_keras import internal, keras

#: the attribute of ops that has the number of their stage
_STAGE = "_tremula_stage"
_base_layer_utils, _functional = internal("engine.base_layer_utils"), internal("engine.functional")


@dataclass(frozen=True)
class Stages:
    """How a pipelined model is laid out.

    Attributes:
        mapping: the IPU of each stage.
        ipus: how many IPUs a replica takes, a power of two.
    """

    mapping: list[int]
    ipus: int

    @property
    def count(self) -> int:
        """How many stages there are."""
        return len(self.mapping)


def pipeline_stages(model: Any) -> Stages | None:
    """The layout of a model; None if it is not pipelined.

    Raises:
        ValueError: the device mapping does not have one IPU for each stage.
    """
    if not model._is_pipelined():
        return None
    count = model._get_pipeline_maximum_pipeline_stage() + 1
    mapping = model._pipelining_device_mapping or list(range(count))
    return Stages(list(mapping), 1 << (max(mapping)).bit_length())


def accumulation_steps(model: Any, steps_per_execution: int) -> int:
    """Micro-batches per weight update of a model that is trained, pipelined or not.

    Raises:
        ValueError: the model is pipelined and the number was not set.
        RuntimeError: an execution does not have a whole number of updates.
    """
    if model._is_pipelined():
        kind, steps = "pipelined model", model._pipelining_gradient_accumulation_steps_per_replica
        if steps is None:
            raise ValueError(
                "The model which you are attempting to train is pipelined, however "
                "`gradient_accumulation_steps_per_replica` has not been set through `set_pipelining_options()`: "
                "pipelined models update their weights after that many micro-batches."
            )
    else:
        kind, steps = "model", model._gradient_accumulation_steps_per_replica
        if steps is None:
            return 1
    if steps_per_execution % steps:
        raise RuntimeError(
            f"The {kind} has been configured to use gradient accumulation for training, however the current "
            f"`steps_per_execution` value (set to {steps_per_execution}) is not divisible by "
            f"`gradient_accumulation_steps_per_replica` ({steps}). Change one of them: an execution is a whole "
            f"number of weight updates."
        )
    return int(steps)


def call_in_stages(model: Any, inputs: Any, training: bool | None = None) -> Any:
    """What `model(inputs, training=training)` gives, computed stage by stage.

    Args:
        model: a pipelined model that is built.
        inputs: a batch of its inputs.
        training: whether layers are in training mode.

    Raises:
        RuntimeError: a stage has no layers.
        ValueError: the device mapping does not fit, or stages on several IPUs share weights.
    """
    network, order = model._pipeline_network(), model._pipeline_order()
    per_stage = order.stages()
    mapping = _mapping(model, len(per_stage))
    _check_shared_weights(per_stage, mapping)
    references = tf.nest.flatten(network.inputs)
    model._clear_losses()
    with _call_context(model, inputs, training):
        given = model._flat_inputs(inputs)
        values = dict(order.constants)
        for number, tensor, reference in zip(order.inputs, given, references, strict=True):
            values[number] = _conformed(model, tensor, reference)
        for number, calls in enumerate(per_stage):
            with _stage(number, mapping[number]):
                for call in calls:
                    results = _run(call, values)
                    values.update(zip(call.results, tf.nest.flatten(results), strict=True))
    return tf.nest.pack_sequence_as(network.outputs, [values[number] for number in order.outputs])


def _call_context(model: Any, inputs: Any, training: bool | None) -> Any:
    """The context in which Keras calls the layers of a model; newer releases take its arguments in a dictionary."""
    enter = _base_layer_utils.call_context().enter
    if "training" in inspect.signature(enter).parameters:
        return enter(model, inputs, build_graph=True, training=training)
    return enter(model, inputs, build_graph=True, call_context_args={"training": training})


def mark_backward_pass() -> None:
    """Give ops that a gradient tape made in the current graph the stage and IPU of the ops that they are gradients of.

    Keras' tape puts them below `gradient_tape/` and the name of the forward op.
    """
    if tf.executing_eagerly():
        return
    operations = tf.compat.v1.get_default_graph().get_operations()
    forward = {op.name: op for op in operations if sharding.has_attr(op, _STAGE)}
    for op in operations:
        _, found, name = op.name.partition("gradient_tape/")
        if not found or op.name in forward:
            continue
        while name and name not in forward:
            name = name.rpartition("/")[0]
        if name:
            stage, ipus = forward[name].get_attr(_STAGE), sharding.get_sharding(forward[name]) or []
            for key, value in facts._attributes(stage, ipus, facts.BACKWARD).items():
                op._set_attr(key, value)


def held_state(model: Any, step: Callable[[], Any], *, training: bool) -> list[Any]:
    """The variables of a pipelined model that micro-batches write: state of metrics, statistics of batch normalisation.

    The device reads variables before the first micro-batch of a pipeline and writes what the last one made of them. So
    each micro-batch has to start from the same values (`held`): metrics of `fit` are the mean over the last
    micro-batches of the weight updates, those of `evaluate` are of the last micro-batch of each execution. With
    `accumulate_outfeed` they are the mean over all micro-batches.

    Args:
        model: a model, pipelined or not.
        step: makes a step without an effect; it is traced if the metrics do not have their variables yet.
        training: whether the model is trained.

    Returns:
        the variables; none if the model is not pipelined.
    """
    if not model._is_pipelined():
        return []
    containers = [model.compiled_loss, model.compiled_metrics]
    if any(container is not None and not container.built for container in containers):
        func_graph.func_graph_from_py_func("step", step, (), {})
    metrics = [variable for metric in model.metrics for variable in metric.variables]
    if training:
        return metrics + _batch_statistics(model)
    if metrics and not model._pipelining_accumulate_outfeed:
        log.warn_once(
            "metrics of pipelined models",
            f"evaluate() of the pipelined model {model.name}: as on the device, metrics are those of the last step "
            f"of each execution. set_pipelining_options(accumulate_outfeed=True) gives the mean over all steps.",
        )
    return metrics


def _batch_statistics(model: Any) -> list[Any]:
    layers = {id(call.node.layer): call.node.layer for call in model._pipeline_order().calls}
    norms = [layer for layer in layers.values() if isinstance(layer, keras.layers.BatchNormalization)]
    if any(0 < layer.momentum < 1 for layer in norms):
        tf_logging.warn(
            f"The moving statistics of batch normalisation in the pipelined model {model.name} keep the last "
            f"micro-batch of each weight update only, so evaluation and prediction normalise with other values than "
            f"training saw. Use layer or group normalisation in pipelines."
        )
    return [variable for layer in norms for variable in layer.non_trainable_variables]


@contextmanager
def held(variables: list[Any], values: list[Any]) -> Iterator[None]:
    """Let a micro-batch start from these values of the variables."""
    with tf.control_dependencies(
        [variable.assign(value) for variable, value in zip(variables, values, strict=True)]
    ):
        yield


def accumulator_dtype(model: Any, variable: Any) -> Any:
    """The type in which gradients of a variable are accumulated, by `gradient_accumulation_dtype`."""
    return accumulate.accumulator_dtype(variable, model._pipelining_kwargs.get("gradient_accumulation_dtype"))


class _Output:
    """A result of the last stage, as `accumulate_outfeed_dtype` sees it."""

    def __init__(self, tensor: Any, number: int) -> None:
        self.dtype = tensor.dtype
        self.shape = tensor.shape
        self.name = f"PipelineStage:{number}"


def outfeed_dtypes(model: Any, outputs: Any, first: int) -> Any:
    """The types in which results are accumulated with `accumulate_outfeed`, by `accumulate_outfeed_dtype`.

    Args:
        model: the pipelined model.
        outputs: a structure of results of one micro-batch.
        first: the number of the first among the outputs of the last stage; the loss is number 0 in training.
    """
    override = model._pipelining_kwargs.get("accumulate_outfeed_dtype")
    types = [
        accumulate.accumulator_dtype(_Output(tensor, number), override)
        for number, tensor in enumerate(tf.nest.flatten(outputs), first)
    ]
    return tf.nest.pack_sequence_as(outputs, types)


def _mapping(model: Any, stages: int) -> list[int]:
    mapping = model._pipelining_device_mapping
    if not mapping:
        return list(range(stages))
    if len(mapping) != stages:
        raise ValueError(
            f"Each stage must be mapped to an IPU: {len(mapping)} mappings != {stages} stages of model {model.name}."
        )
    return list(mapping)


def _check_shared_weights(per_stage: list[list[Call]], mapping: list[int]) -> None:
    where: dict[int, tuple[int, int]] = {}
    for number, calls in enumerate(per_stage):
        for call in calls:
            for variable in call.node.layer.weights:
                stage, ipu = where.setdefault(id(variable), (number, mapping[number]))
                if ipu != mapping[number]:
                    raise ValueError(
                        f"The weight {variable.name} of layer {call.node.layer.name} is used in stage {stage} on IPU "
                        f"{ipu} and in stage {number} on IPU {mapping[number]}, but an input can only be used by "
                        f"pipeline stages on the same IPU. Give these stages one IPU in `device_mapping`."
                    )


def _run(call: Call, values: dict[int, Any]) -> Any:
    given: dict[str, list[Any]] = {}
    for tensor, number in zip(call.node.keras_inputs, call.arguments, strict=True):
        given.setdefault(str(id(tensor)), []).append(values[number])
    args, kwargs = call.node.map_arguments(given)
    said = call.training is None or kwargs.get("training") is not None
    if not said and call.node.layer._call_spec.expects_training_arg:
        kwargs = {**kwargs, "training": call.training}
    return call.node.layer(*args, **kwargs)


def _conformed(model: Any, tensor: Any, reference: Any) -> Any:
    tensor._keras_mask = None
    return _functional.Functional._conform_to_reference_input(model, tensor, reference)


@contextmanager
def _stage(number: int, ipu: int) -> Iterator[None]:
    if tf.executing_eagerly():
        yield
        return
    with facts.stage(number, [ipu]):
        yield
