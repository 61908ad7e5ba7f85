"""The programs of an `IPUEstimator`: a step of the model, looped on the device."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.estimators import graph_checks
from tremula.frontends.tensorflow.estimators.model_call import CPU, ModelCall
from tremula.frontends.tensorflow.estimators.specs import IPUEstimatorSpec
from tremula.frontends.tensorflow.estimators.stock import model_fn
from tremula.frontends.tensorflow.feeds.infeed import body_arguments


def build(call: ModelCall) -> Any:
    """The program of one call as a stock `EstimatorSpec`."""
    keys = tf.estimator.ModeKeys
    return {keys.TRAIN: _training, keys.EVAL: _evaluation, keys.PREDICT: _prediction}[call.mode](call)


def without_device(spec: Any) -> Any:
    """What a model function gave for features that come from elsewhere, as a stock `EstimatorSpec`: to export it."""
    if isinstance(_checked(spec), model_fn.EstimatorSpec):
        return spec
    shared = {name: getattr(spec, name) for name in spec._fields if name not in ("host_call", "eval_metrics")}
    return model_fn.EstimatorSpec(**shared)


def _checked(spec: Any) -> Any:
    if not isinstance(spec, (IPUEstimatorSpec, model_fn.EstimatorSpec)):
        raise ValueError(
            f"`model_fn` must return IPUEstimatorSpec or EstimatorSpec, and it returned {type(spec).__name__}."
        )
    return spec


def _training(call: ModelCall) -> Any:
    found: dict[str, Any] = {}

    def step() -> Any:
        spec = found["spec"] = _checked(call.spec_of_element())
        graph_checks.check_training(tf.compat.v1.get_default_graph(), call.ipus.num_replicas)
        host_call = getattr(spec, "host_call", None)
        if host_call is not None:
            if call.ipus.iterations_per_loop > 1:
                raise ValueError(
                    "host_call is not allowed for iterations_per_loop > 1: the host would see one of "
                    f"{call.ipus.iterations_per_loop} steps. Set iterations_per_loop to 1."
                )
            found["for_host"] = [
                model_fn._check_is_tensor(value, "`host_call` argument") for value in host_call[1]
            ]
        with tf.control_dependencies([spec.train_op]):
            return tf.identity(spec.loss)

    def program() -> Any:
        loss = call.mean_of_steps(step)
        return [loss, *found.get("for_host", [])]

    loss, *for_host = call.compiled(program)
    spec = found["spec"]
    train_op = loss.op
    if getattr(spec, "host_call", None) is not None:
        with tf.device(CPU):
            train_op = spec.host_call[0](*for_host)
        model_fn._check_is_tensor_or_operation(train_op, "`host_call` return value")
    return model_fn.EstimatorSpec(
        call.mode,
        loss=loss,
        train_op=train_op,
        training_hooks=spec.training_hooks,
        training_chief_hooks=getattr(spec, "training_chief_hooks", None),
        scaffold=getattr(spec, "scaffold", None),
    )


def _evaluation(call: ModelCall) -> Any:
    found: dict[str, Any] = {}
    outfeed = call.outfeed()

    def step() -> Any:
        spec = found["spec"] = _checked(call.spec_of_element())
        for_host = getattr(spec, "eval_metrics", None)
        if not spec.eval_metric_ops and not for_host:
            raise ValueError(
                "EstimatorSpec must contain either eval_metric_ops or eval_metrics when evaluating."
            )
        if spec.eval_metric_ops and for_host:
            raise ValueError(
                "EstimatorSpec cannot contain both eval_metric_ops and eval_metrics: metrics are computed on the "
                "device, or by the host."
            )
        values = for_host[1] if for_host else _updated(spec.eval_metric_ops)
        with tf.control_dependencies([outfeed.enqueue(values)]):
            return tf.identity(spec.loss)

    (loss,) = call.compiled(lambda: [call.mean_of_steps(step)])
    spec = found["spec"]
    with tf.device(CPU):
        if getattr(spec, "eval_metrics", None):
            with tf.control_dependencies([loss]):
                arguments, named = body_arguments(outfeed.dequeue(wait_for_completion=True))
            metrics = spec.eval_metrics[0](*arguments, **named)
        else:
            # read once, when the evaluation is done: no dependency on the loop, which would run again
            last = outfeed.dequeue(wait_for_completion=True)
            metrics = {name: (tf.reduce_mean(value[-1]), tf.no_op()) for name, value in last.items()}
    return model_fn.EstimatorSpec(
        call.mode,
        loss=loss,
        eval_metric_ops=metrics,
        evaluation_hooks=spec.evaluation_hooks,
        scaffold=getattr(spec, "scaffold", None),
    )


def _prediction(call: ModelCall) -> Any:
    found: dict[str, Any] = {}
    outfeed = call.outfeed()

    def step() -> Any:
        spec = found["spec"] = _checked(call.spec_of_element())
        return outfeed.enqueue(spec.predictions)

    done = call.compiled(lambda: call.repeated(step))
    with tf.device(CPU), tf.control_dependencies([done]):
        predictions = outfeed.dequeue(wait_for_completion=True)
    spec = found["spec"]
    return model_fn.EstimatorSpec(
        call.mode,
        predictions=predictions,
        prediction_hooks=spec.prediction_hooks,
        scaffold=getattr(spec, "scaffold", None),
    )


def _updated(metrics: dict[str, Any]) -> dict[str, Any]:
    """The value of each metric after its update."""
    return {name: _after_update(*metrics[name]) for name in sorted(metrics)}


def _after_update(value: Any, update: Any) -> Any:
    # updates of `tf.compat.v1.metrics` give the new value; the value itself may have been read before. Those of Keras
    # give the last variable that was updated, and the value is read after the updates
    if isinstance(update, tf.Operation) or (_reads_variable(update) and not _reads_variable(value)):
        return tf.identity(value)
    return update


def _reads_variable(tensor: Any) -> bool:
    op = tf.convert_to_tensor(tensor).op
    while op.type == "Identity":
        op = op.inputs[0].op
    return bool(op.type == "ReadVariableOp")
