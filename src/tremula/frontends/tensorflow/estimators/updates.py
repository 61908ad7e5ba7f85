"""What a model's updates of variables are to an estimator.

On the device, what no result depends on is left out of a program: a `model_fn` may build its `train_op` in every mode.
A traced function runs everything that changes a variable. So optimizers update nothing while a model is traced that is
only evaluated or asked for predictions.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.training import optimizer

from tremula.frontends.tensorflow.stock_keras import keras

_local = threading.local()


@contextmanager
def left_out() -> Iterator[None]:
    """While a model is traced that is not trained."""
    before = getattr(_local, "left_out", False)
    _local.left_out = True
    try:
        yield
    finally:
        _local.left_out = before


def install() -> None:
    """Let optimizers ask whether weights are to be updated."""
    for kind in (optimizer.Optimizer, keras.optimizers.legacy.Optimizer):
        kind.apply_gradients = _unless_left_out(kind.apply_gradients)


def _unless_left_out(stock: Any) -> Any:
    @functools.wraps(stock)
    def apply_gradients(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(_local, "left_out", False):
            return tf.no_op(name="no_update")
        return stock(self, *args, **kwargs)

    return apply_gradients


def place_updates() -> None:
    """Let the update of a variable belong to the graph that updates it, and not to that of the variable.

    A specification refuses metrics of another graph than that of the model. Some metrics are a variable's update.
    """
    resource_variable_ops._UnreadVariable.graph = property(lambda update: update.op.graph)
