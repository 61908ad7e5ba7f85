"""Arguments of `Model.compile` that Keras 2.6 took and later releases do not, for models under an IPUStrategy."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import internal


def install() -> None:
    """Let `compile` take a tensor or variable as `steps_per_execution`."""
    from tremula.frontends.tensorflow.strategy import IPUStrategyV1

    model = internal("engine.training").Model
    stock = model.compile

    @functools.wraps(stock)
    def with_old_arguments(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.distribute_strategy, IPUStrategyV1) and "steps_per_execution" in kwargs:
            kwargs["steps_per_execution"] = plain_steps(kwargs["steps_per_execution"])
        return stock(self, *args, **kwargs)

    model.compile = with_old_arguments


def plain_steps(steps: Any) -> Any:
    """A number of steps that is given as a tensor or variable, as an integer; everything else as it is."""
    return int(steps) if isinstance(steps, (tf.Tensor, tf.Variable)) else steps
