"""`IPUPipelineEstimatorSpec`: the stages that a `model_fn` gives, and what is done with their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.estimators.stock import model_fn
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod


class _Fields(NamedTuple):
    mode: str
    computational_stages: Any
    gradient_accumulation_count: int
    eval_metrics_fn: Any
    optimizer_function: Any
    device_mapping: Any
    loss_accumulator_dtype: Any
    training_hooks: Any
    evaluation_hooks: Any
    prediction_hooks: Any
    reduction_method: Any
    pipeline_op_kwargs: dict[str, Any]


class IPUPipelineEstimatorSpec(_Fields):
    """What the `model_fn` of an `IPUPipelineEstimator` gives.

    Args:
        mode: a value of `tf.estimator.ModeKeys`.
        computational_stages: the functions of the stages; the first gets the elements of the dataset.
        gradient_accumulation_count: micro-batches for each weight update.
        eval_metrics_fn: of the host: gets the results of the last stage, gives a dictionary of metrics and the loss
            under the key "loss"; needed to evaluate.
        optimizer_function: gets the results of the last stage, gives an `OptimizerFunctionOutput`; needed to train.
        device_mapping: the IPU of each stage; one each by default.
        loss_accumulator_dtype: type in which the losses of a weight update are added up; that of the loss by default.
        training_hooks: hooks of the session that trains.
        evaluation_hooks: hooks of the session that evaluates.
        prediction_hooks: hooks of the session that predicts.
        reduction_method: how gradients are accumulated.
        **pipeline_op_kwargs: further arguments of `pipelining_ops.pipeline`.

    Raises:
        TypeError: a hook is not a `SessionRunHook`.
        ValueError: an argument is missing, or is the estimator's own.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        computational_stages: Sequence[Any],
        gradient_accumulation_count: int | None = None,
        eval_metrics_fn: Callable[..., dict[str, Any]] | None = None,
        optimizer_function: Callable[..., Any] | None = None,
        device_mapping: Sequence[int] | None = None,
        loss_accumulator_dtype: Any = None,
        training_hooks: Iterable[Any] | None = None,
        evaluation_hooks: Iterable[Any] | None = None,
        prediction_hooks: Iterable[Any] | None = None,
        reduction_method: Any = GradientAccumulationReductionMethod.SUM,
        **pipeline_op_kwargs: Any,
    ) -> IPUPipelineEstimatorSpec:
        name = cls.__name__
        if mode == tf.estimator.ModeKeys.TRAIN and not optimizer_function:
            raise ValueError(f"`{name}` must contain `optimizer_function` when training.")
        if mode == tf.estimator.ModeKeys.EVAL and not eval_metrics_fn:
            raise ValueError(
                f"An evaluation needs `eval_metrics_fn` in the `{name}`: it gives the loss and metrics."
            )
        if not gradient_accumulation_count:
            raise ValueError(
                f"A `{name}` needs `gradient_accumulation_count`: the micro-batches for each weight update."
            )
        if "accumulate_outfeed" in pipeline_op_kwargs:
            raise ValueError(
                f"The estimator sets `accumulate_outfeed` itself, to add up the loss: leave it out of the `{name}`."
            )
        check_hooks = model_fn._validate_estimator_spec_hooks
        return super().__new__(
            cls,
            mode,
            computational_stages,
            gradient_accumulation_count,
            eval_metrics_fn,
            optimizer_function,
            device_mapping,
            loss_accumulator_dtype,
            check_hooks(training_hooks),
            check_hooks(evaluation_hooks),
            check_hooks(prediction_hooks),
            reduction_method,
            pipeline_op_kwargs,
        )

    @property
    def ipus(self) -> int:
        """How many IPUs the stages are on."""
        if self.device_mapping is not None:
            return len(set(self.device_mapping))
        return len(self.computational_stages)

    def hooks(self) -> list[Any]:
        """The hooks of the mode."""
        keys = tf.estimator.ModeKeys
        return list(
            {
                keys.TRAIN: self.training_hooks,
                keys.EVAL: self.evaluation_hooks,
                keys.PREDICT: self.prediction_hooks,
            }[self.mode]
        )
