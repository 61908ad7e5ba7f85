"""Methods of a Keras model that a program must not override, because the device's programs take their place."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.stock_keras import internal

_Model = internal("engine.training").Model


def check_overrides(model: Any, mode: Mode) -> None:
    """Refuse a model with a method of its own that would never be called.

    Raises:
        RuntimeError: with the name of the method.
    """
    never = [f"make_{mode.value}_function"]
    if mode is Mode.FIT:
        never.append("train_step")
    for name in never:
        if _overridden(model, name):
            raise RuntimeError(
                at_line(
                    f"The function `{name}` for the model {model.name} has been overridden, but the model trains and "
                    f"predicts in a program of the device, which does not call it. Remove the override, or make the "
                    f"strategy with `enable_keras_extensions=False`."
                )
            )
    step = f"{mode.value}_step"
    if model._is_pipelined() and _overridden(model, step):
        raise RuntimeError(
            at_line(
                f"The function `{step}` for the model {model.name} has been overridden, but a pipelined model runs "
                f"stage by stage, without it. Remove the override, or the pipeline stages."
            )
        )


def _overridden(model: Any, name: str) -> bool:
    from tremula.frontends.tensorflow.keras.extension import KerasExtensionBase

    function = getattr(getattr(model, name), "__func__", None)
    return function not in (getattr(KerasExtensionBase, name, None), getattr(_Model, name))
