"""Optimizers of Keras 2.6 (`OptimizerV2`), which later releases keep under `keras.optimizers.legacy`.

Programs for IPUs rely on them: on arguments such as `decay`, on `_resource_apply_dense` and `add_slot` in classes of
their own.

* `keras.optimizers.SGD(...)` and the like give an old optimizer under an IPUStrategy, unless they are called with
  arguments that only the new one has.
* A class that is derived from `keras.optimizers.Optimizer` and written for the old base class gets it.
"""

from __future__ import annotations

import inspect
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import NAME, internal, keras

#: methods that only an optimizer of the old kind defines
_OLD_METHODS = ("_resource_apply_dense", "_resource_apply_sparse", "_create_slots", "_prepare_local")


def old_kind(kind: type) -> type | None:
    """The old class of an optimizer that Keras has in both forms; None for others."""
    if not kind.__module__.startswith(f"{NAME}.src.optimizers."):
        return None
    found: type | None = getattr(keras.optimizers.legacy, kind.__name__, None)
    return found if kind.__name__ != "Optimizer" else None


def under_ipu_strategy() -> bool:
    """Whether an IPUStrategy is in force."""
    from tremula.frontends.tensorflow.strategy import IPUStrategyV1

    return isinstance(tf.distribute.get_strategy(), IPUStrategyV1)


def install() -> None:
    """Make the changes that this module describes."""
    base = internal("optimizers.optimizer")
    base.Optimizer.__new__ = staticmethod(_new)
    base.Optimizer.__init_subclass__ = classmethod(_derive)


def _new(cls: type, *args: Any, **kwargs: Any) -> Any:
    old = old_kind(cls) if under_ipu_strategy() else None
    if old is not None and _accepts(old, args, kwargs):
        return old(*args, **kwargs)
    return object.__new__(cls)


def _accepts(kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    known = {*signature.parameters, "lr", "decay", "clipnorm", "clipvalue", "global_clipnorm"}
    positions = [name for name in signature.parameters if name not in ("self", "kwargs")]
    return len(args) <= len(positions) and known.issuperset(kwargs)


def _derive(cls: type) -> None:
    new = internal("optimizers.optimizer").Optimizer
    if new in cls.__bases__ and any(name in vars(cls) for name in _OLD_METHODS):
        old = internal("optimizers.legacy.optimizer_v2").OptimizerV2
        cls.__bases__ = tuple(old if base is new else base for base in cls.__bases__)
        # Python remembers that the former base had one with arguments
        cls.__new__ = staticmethod(lambda kind, *_, **__: object.__new__(kind))  # type: ignore[assignment]
