"""What a pipeline keeps in the graph for the chip model. These are all the attribute names; `ops/facts.py` reads them.

| attribute | on | value |
|---|---|---|
| `_XlaSharding` | ops of forward and backward stages | the IPUs of the stage (`sharding.get_sharding`) |
| `_tremula_stage` | ops of forward and backward stages | number of the stage, from 0 |
| `_tremula_pass` | ops of stages, gradients, accumulation, update | `forward`, `backward`, `accumulate` or `update` |
| `_tremula_update_every` | the branch of an accumulating optimizer | how many iterations make one update |
| `_tremula_recomputation_checkpoint` | ops of `recomputation_checkpoint` | True |
| `_tremula_pipeline` | the operation that `pipeline` gives | JSON: schedule, placement, options |
| `_tremula_accumulation` | the operation of an accumulating optimizer | JSON: micro-batches, options |
| `_tremula_own_state` | resources that each replica has one of (`replicas/analysis.py`) | True |
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.eager import backprop
from tensorflow.python.framework import ops
from tensorflow.python.ops import gradients_util
from tensorflow.python.training import optimizer

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.ops import facts

STAGE, PASS, PIPELINE, ACCUMULATION, OWN_STATE = "stage", "pass", "pipeline", "accumulation", "own_state"
CHECKPOINT, UPDATE_EVERY = "recomputation_checkpoint", "update_every"
FORWARD, BACKWARD, ACCUMULATE, UPDATE = "forward", "backward", "accumulate", "update"


@contextmanager
def stage(number: int, ipus: list[int]) -> Iterator[list[Any]]:
    """While a forward stage is traced. The list that it gives holds the stage's ops afterwards; their gradients get its
    attributes too.
    """
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    made: list[Any] = []
    with graph._attr_scope(_attributes(number, ipus, FORWARD)):
        yield made
    made.extend(graph.get_operations()[before:])
    for op in made:
        _mark_gradient(op, number, ipus)


def update() -> AbstractContextManager[None]:
    """While the weight update is traced."""
    return marked(UPDATE)


@contextmanager
def marked(kind: str) -> Iterator[None]:
    """While ops of this pass are traced."""
    if tf.executing_eagerly():
        yield
        return
    with tf.compat.v1.get_default_graph()._attr_scope(facts.attributes({PASS: kind})):
        yield


def mark_gradients() -> None:
    """Let ops that compute gradients carry the mark of the backward pass."""
    backprop.GradientTape.gradient = _marking(backprop.GradientTape.gradient, BACKWARD)
    gradients_util._GradientsHelper = _marking(gradients_util._GradientsHelper, BACKWARD)


def mark_updates() -> None:
    """Let ops that an optimizer of TensorFlow 1 makes to change weights carry the mark of the update."""
    optimizer.Optimizer.apply_gradients = _marking(optimizer.Optimizer.apply_gradients, UPDATE)


def mark_keras_updates() -> None:
    """The same for optimizers of Keras."""
    from tremula.frontends.tensorflow.stock_keras import keras  # programs without Keras do not load it

    kinds = keras.optimizers
    for kind in {kinds.Optimizer, kinds.legacy.Optimizer, getattr(kinds, "experimental", kinds).Optimizer}:
        kind.apply_gradients = _marking(kind.apply_gradients, UPDATE)


def _marking(stock: Callable[..., Any], kind: str) -> Callable[..., Any]:
    @functools.wraps(stock)
    def compute(*args: Any, **kwargs: Any) -> Any:
        with marked(kind):
            return stock(*args, **kwargs)

    return compute


def _attributes(number: int, ipus: list[int], direction: str) -> dict[str, Any]:
    return {
        sharding.ATTRIBUTE: sharding.attribute(ipus),
        **facts.attributes({STAGE: number, PASS: direction}),
    }


class _StageGradient:
    """The gradient function of an op, whose ops belong to the op's stage."""

    def __init__(self, gradient: Callable[..., Any], attributes: dict[str, Any]) -> None:
        self._gradient = gradient
        self._attributes = attributes

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        with tf.compat.v1.get_default_graph()._attr_scope(self._attributes):
            return self._gradient(op, *args, **kwargs)


def _mark_gradient(op: Any, number: int, ipus: list[int]) -> None:
    try:
        gradient = ops.get_gradient_function(op)
    except LookupError:
        return
    if gradient is not None and not isinstance(gradient, _StageGradient):
        op._gradient_function = _StageGradient(gradient, _attributes(number, ipus, BACKWARD))
