"""Which optimizers gradients cannot be accumulated for."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.stock_keras import keras


def check_for_accumulation(optimizer: Any, *, only_v2: bool = False) -> None:
    """Refuse an optimizer whose `minimize` would be left out: accumulated gradients are applied without it.

    Raises:
        ValueError: it has a `minimize` of its own, or is no `OptimizerV2` where only those are allowed.
    """
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        check_for_accumulation(inner, only_v2=only_v2)
        return
    base = keras.optimizers.legacy.Optimizer
    if only_v2 and not isinstance(optimizer, base):
        raise ValueError(
            at_line(
                f"use_v2_gradient_accumulation_optimizer may only be set to True when an OptimizerV2 derived optimizer "
                f"is used, such as keras.optimizers.legacy.SGD, and this is a {type(optimizer).__name__}."
            )
        )
    owner = next((cls for cls in type(optimizer).__mro__ if "minimize" in vars(cls)), None)
    stock = owner is None or owner.__module__.startswith((keras.__name__ + ".", "tremula.", "tensorflow."))
    if isinstance(optimizer, (base, keras.optimizers.Optimizer)) and not stock:
        raise ValueError(
            at_line(
                f"When using Gradient Accumulation or Pipelining, the optimizer must not override "
                f"OptimizerV2.minimize, as {type(optimizer).__name__} does: its `minimize` would never be "
                f"called. Override `apply_gradients`."
            )
        )
