"""Metrics back to zero before an epoch, which Keras does by conversions and reads of each variable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

from tremula.frontends.tensorflow.stock_keras import internal

_Metric = internal("metrics.base_metric").Metric


def reset(metrics: Iterable[Any]) -> None:
    """Reset metrics. Those with a method of their own for it reset themselves."""
    zeros: dict[Any, Any] = {}
    for metric in metrics:
        if not (tf.executing_eagerly() and _plain(metric)):
            metric.reset_state()
            continue
        for variable in metric.variables:
            if variable.dtype not in zeros:
                zeros[variable.dtype] = tf.zeros([], variable.dtype)
            gen_resource_variable_ops.assign_variable_op(variable.handle, zeros[variable.dtype])


def _plain(metric: Any) -> bool:
    """Whether the metric is reset by Keras' own method, and has nothing but numbers."""
    kind = type(metric)
    inherited = kind.reset_state is _Metric.reset_state and kind.reset_states is _Metric.reset_states
    return inherited and all(
        isinstance(variable, resource_variable_ops.BaseResourceVariable) and variable.shape.rank == 0
        for variable in metric.variables
    )
