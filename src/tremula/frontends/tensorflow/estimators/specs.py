"""`IPUEstimatorSpec`: what a `model_fn` gives, with computations that the host does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tremula.frontends.tensorflow.estimators.stock import model_fn


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    eval_metrics: Any
    host_call: Any
    training_hooks: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class IPUEstimatorSpec(_Fields):
    """Like the stock `EstimatorSpec`, with functions of the host.

    Args:
        mode: a value of `tf.estimator.ModeKeys`.
        predictions: a tensor or a dictionary of tensors; needed to predict.
        loss: a scalar; needed to train and to evaluate.
        train_op: what one training step does; needed to train.
        eval_metric_ops: metrics that the device computes: a dictionary of metrics or pairs of value and update.
        eval_metrics: metrics that the host computes: a pair of a function that gives such a dictionary, and a list or
            dictionary of tensors for it. To evaluate, exactly one of the two is needed.
        host_call: a pair of a function that the host runs in each training step, and a list of tensors for it. The
            function gives an operation or a tensor.
        training_hooks: hooks of the session that trains.
        evaluation_hooks: hooks of the session that evaluates.
        prediction_hooks: hooks of the session that predicts.

    Raises:
        TypeError, ValueError: an argument is missing, or does not fit.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        eval_metrics: tuple[Any, Any] | None = None,
        host_call: tuple[Any, list[Any]] | None = None,
        training_hooks: Iterable[Any] | None = None,
        evaluation_hooks: Iterable[Any] | None = None,
        prediction_hooks: Iterable[Any] | None = None,
    ) -> IPUEstimatorSpec:
        stock = model_fn.EstimatorSpec(
            mode,
            predictions,
            loss,
            train_op,
            eval_metric_ops,
            training_hooks=training_hooks,
            evaluation_hooks=evaluation_hooks,
            prediction_hooks=prediction_hooks,
        )
        _check_call("host_call", host_call, (list,))
        _check_call("eval_metrics", eval_metrics, (list, dict))
        return super().__new__(
            cls,
            mode,
            stock.predictions,
            stock.loss,
            stock.train_op,
            stock.eval_metric_ops,
            eval_metrics,
            host_call,
            stock.training_hooks,
            stock.evaluation_hooks,
            stock.prediction_hooks,
        )


def _check_call(name: str, call: Any, kinds: tuple[type, ...]) -> None:
    if call is None:
        return
    if not isinstance(call, tuple):
        raise TypeError(f"`{name}` is a pair of a function and its tensors, not a {type(call).__name__}.")
    if len(call) != 2:
        raise ValueError(
            f"`{name}` is a pair of a function and its tensors, and this tuple has {len(call)} parts."
        )
    if not callable(call[0]):
        raise TypeError(f"`{name}` starts with a function, and {call[0]!r} cannot be called.")
    if not isinstance(call[1], kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"The second element in `{name}` must be a {wanted} of tensors, not {type(call[1]).__name__}."
        )
