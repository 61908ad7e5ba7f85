"""The programs of an `IPUPipelineEstimator`: the stages of the model as a pipeline."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import function_utils

from tremula.frontends.tensorflow.estimators.model_call import CPU, ModelCall
from tremula.frontends.tensorflow.estimators.pipeline_spec import IPUPipelineEstimatorSpec
from tremula.frontends.tensorflow.estimators.stock import model_fn
from tremula.frontends.tensorflow.feeds.infeed import body_arguments
from tremula.frontends.tensorflow.pipeline.build import pipeline


def build(call: ModelCall) -> Any:
    """The program of one call as a stock `EstimatorSpec`."""
    found: dict[str, IPUPipelineEstimatorSpec] = {}
    outfeed = call.outfeed()

    def program() -> Any:
        spec = found["spec"] = _spec(call)
        return _pipeline(call, spec, outfeed)

    done = call.compiled(program)
    spec = found["spec"]
    with tf.device(CPU), tf.control_dependencies([done]):
        results = outfeed.dequeue(wait_for_completion=True)
    keys = tf.estimator.ModeKeys
    if call.mode == keys.TRAIN:
        with tf.device(CPU):
            loss = _mean_loss(spec, results)
        return model_fn.EstimatorSpec(call.mode, loss=loss, train_op=done, training_hooks=spec.hooks())
    if call.mode == keys.EVAL:
        with tf.device(CPU):
            loss, metrics = _loss_and_metrics(spec, results)
        return model_fn.EstimatorSpec(
            call.mode, loss=loss, eval_metric_ops=metrics, evaluation_hooks=spec.hooks()
        )
    return model_fn.EstimatorSpec(call.mode, predictions=_predictions(results), prediction_hooks=spec.hooks())


def _spec(call: ModelCall) -> IPUPipelineEstimatorSpec:
    """What the model function gives.

    Raises:
        TypeError: it is no `IPUPipelineEstimatorSpec`.
        ValueError: the function takes features, or the stages do not fit the IPUs.
    """
    if {"features", "labels"} & set(function_utils.fn_args(call.model_fn)):
        raise ValueError(
            "The `model_fn` of an `IPUPipelineEstimator` must not have `features` or `labels` arguments: the first "
            "stage gets them."
        )
    spec = call.spec()
    if not isinstance(spec, IPUPipelineEstimatorSpec):
        raise TypeError(
            "The `model_fn` of an `IPUPipelineEstimator` must return `IPUPipelineEstimatorSpec`, and it returned "
            f"{type(spec).__name__}."
        )
    shards = call.ipus.num_shards
    if not shards // 2 < spec.ipus <= shards:
        raise ValueError(
            f"This pipeline requires {spec.ipus} devices, but `IPURunConfig.num_shards` was set to {shards}. IPUs are "
            "handed out in powers of two: set num_shards to the next one from the number of IPUs of the stages."
        )
    return spec


def _pipeline(call: ModelCall, spec: IPUPipelineEstimatorSpec, outfeed: Any) -> Any:
    training = call.mode == tf.estimator.ModeKeys.TRAIN
    arguments: dict[str, Any] = {"accumulate_outfeed": training}
    if training:
        arguments |= {
            "optimizer_function": spec.optimizer_function,
            "outfeed_loss": True,
            "accumulate_outfeed_dtype": spec.loss_accumulator_dtype,
            "reduction_method": spec.reduction_method,
        }
    return pipeline(
        spec.computational_stages,
        spec.gradient_accumulation_count,
        repeat_count=_updates(call, spec),
        infeed_queue=call.infeed,
        outfeed_queue=outfeed,
        device_mapping=spec.device_mapping,
        name=f"ipu_pipeline_estimator_{call.mode}",
        **arguments,
        **spec.pipeline_op_kwargs,
    )


def _updates(call: ModelCall, spec: IPUPipelineEstimatorSpec) -> int:
    """How often all micro-batches of a weight update run in one loop.

    Raises:
        ValueError: the iterations of the loop are not a multiple of the micro-batches.
    """
    iterations, count = call.ipus.iterations_per_loop, spec.gradient_accumulation_count
    names = f"`IPURunConfig.iterations_per_loop` (got {iterations}) {{}} `gradient_accumulation_count` (got {count})"
    if iterations < count:
        raise ValueError(f"{names.format('cannot be less than')}: an iteration is one micro-batch.")
    if iterations % count:
        raise ValueError(f"{names.format('must be divisible by')}: a loop does whole weight updates.")
    return iterations // count


def _mean_loss(spec: IPUPipelineEstimatorSpec, sums: Any) -> Any:
    """The mean over micro-batches, updates and replicas of losses that were added up for each update."""
    count = spec.gradient_accumulation_count * spec.pipeline_op_kwargs.get(
        "batch_serialization_iterations", 1
    )
    (total,) = tf.nest.flatten(sums)
    return tf.reduce_mean(tf.cast(total, tf.float32)) / count


def _loss_and_metrics(spec: IPUPipelineEstimatorSpec, results: Any) -> tuple[Any, dict[str, Any]]:
    arguments, named = body_arguments(results)
    metrics = spec.eval_metrics_fn(*arguments, **named)
    if not isinstance(metrics, dict):
        raise TypeError(
            f"The `eval_metrics_fn` must return a dict, and it returned {type(metrics).__name__}."
        )
    key = model_fn.LOSS_METRIC_KEY
    if key not in metrics:
        raise KeyError(f"The dict that `eval_metrics_fn` returns must contain '{key}', the loss.")
    metrics = dict(metrics)
    # one value for each micro-batch and replica
    return tf.reduce_mean(tf.cast(metrics.pop(key), tf.float32)), metrics


def _predictions(results: Any) -> Any:
    if not isinstance(results, (list, tuple)):
        return results
    if len(results) != 1:
        raise ValueError(
            f"The last computational stage must return exactly one prediction tensor, or a dictionary of them, and it "
            f"returns {len(results)}."
        )
    return results[0]
