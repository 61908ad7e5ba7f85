"""`PipelineStage`: the scope that says in which stage of a pipeline layers, or calls of layers, are.

The stage is the attribute `_pipeline_stage` of layers that are made, and of the nodes of Keras' graph that calls
make. The stage of a call counts before that of its layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import tf_decorator

from tremula.frontends.tensorflow.stock_keras import internal

#: on a strategy while a scope is open, on layers and on nodes: the number of the stage
ATTRIBUTE = "_pipeline_stage"
#: how many scopes were opened in this process
_opened = 0


class PipelineStage:
    """Layers that are made or called inside belong to a stage.

    Args:
        stage: the number of the stage; 0 is the first.
    """

    def __init__(self, stage: int) -> None:
        self._stage = stage
        self._strategy: Any = None

    def __enter__(self) -> PipelineStage:
        """Open the scope.

        Raises:
            ValueError: the number is negative.
            RuntimeError: no IPUStrategy is in force, or the scope is inside another one.
        """
        from tremula.frontends.tensorflow.strategy import IPUStrategyV1

        if self._stage < 0:
            raise ValueError(f"{self._stage} is not a valid pipeline stage: stages are counted from 0.")
        strategy = tf.distribute.get_strategy()
        if not isinstance(strategy, IPUStrategyV1):
            raise RuntimeError(
                f"PipelineStage may only be used from within an IPUStrategy context, but the strategy is "
                f"{type(strategy).__name__}: open it inside `with strategy.scope():`."
            )
        if hasattr(strategy, ATTRIBUTE):
            raise RuntimeError(
                f"Pipeline stages must not be nested: PipelineStage({self._stage}) is inside "
                f"PipelineStage({getattr(strategy, ATTRIBUTE)})."
            )
        global _opened
        _opened += 1
        setattr(strategy, ATTRIBUTE, self._stage)
        self._strategy = strategy
        return self

    def __exit__(self, *_exception: object) -> None:
        delattr(self._strategy, ATTRIBUTE)
        self._strategy = None


def entered() -> int:
    """How many scopes were opened in this process."""
    return _opened


def stage_of(node: Any) -> int | None:
    """The stage that scopes gave to a call: its own, or else its layer's; None if there is none."""
    own: int | None = getattr(node, ATTRIBUTE, None)
    return getattr(node.layer, ATTRIBUTE, None) if own is None else own


def install() -> None:
    """Note the stage on each new layer and node; read the stages of functional models when they are complete."""
    layer = internal("engine.base_layer").Layer
    node = internal("engine.node").Node
    functional = internal("engine.functional").Functional
    _after(layer, _note)
    _after(node, _note)
    _after(functional, _read_stages)


def _after(owner: type, action: Callable[[Any], None]) -> None:
    original: Any = owner.__init__  # type: ignore[misc]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        action(self)

    # Keras reads the arguments of constructors through decorators
    owner.__init__ = tf_decorator.make_decorator(original, __init__)  # type: ignore[misc]


def _note(made: Any) -> None:
    stage = getattr(tf.distribute.get_strategy(), ATTRIBUTE, None)
    if stage is not None:
        setattr(made, ATTRIBUTE, stage)


def _read_stages(model: Any) -> None:
    read = getattr(model, "_get_pipelining_from_nodes_delegate", None)
    # `Model(inputs, outputs)` runs the constructor once without an effect
    if read is not None and getattr(model, "_nodes_by_depth", None) is not None:
        read()
