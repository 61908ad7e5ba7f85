"""The optimizers of the Adam family."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .._create import create

Value = float | Tensor | None


def _decays(weight_decay: Value) -> bool:
    return isinstance(weight_decay, Tensor) or bool(weight_decay)


def _check_decay(weight_decay: Value, weight: Tensor | None) -> None:
    if _decays(weight_decay) and weight is None:
        raise ValueError("Weight decay requires weight to not be None.")


def _updater(
    mode: str,
    acc_first_order: Tensor,
    acc_second_order: Tensor,
    weight: Tensor | None,
    time_step: Tensor | None,
    numbers: dict[str, Value],
) -> Tensor:
    decays = _decays(numbers["weight_decay"])
    found: dict[int, tuple[str, Tensor]] = {1: ("acc_first_order", acc_first_order)}
    found[2] = ("acc_second_order", acc_second_order)
    if decays and weight is not None:
        found[0] = ("weight", weight)
    if time_step is not None:
        found[3] = ("time_step", time_step)
    attributes: dict[str, Any] = {"mode": mode}
    for place, (name, value) in enumerate(numbers.items(), 4):
        if isinstance(value, Tensor):
            found[place] = (name, value)
            attributes[name] = None
        else:
            attributes[name] = value
    places = sorted(found)
    tensors = {found[place][0]: found[place][1] for place in places}
    return create("AdamUpdater", tensors, "Updater", attributes, places=places)


def _corrected(
    mode: str,
    acc_first_order: Tensor,
    acc_second_order: Tensor,
    weight: Tensor | None,
    time_step: Tensor | None,
    numbers: dict[str, Value],
) -> Tensor:
    """An update whose moments are corrected by the step, if that is given."""
    _check_decay(numbers["weight_decay"], weight)
    if time_step is None:
        mode = f"{mode}NoBias"
    elif numbers["beta1"] is None or numbers["beta2"] is None:
        raise ValueError("Bias correction requires both beta1 and beta2 to not be None.")
    return _updater(mode, acc_first_order, acc_second_order, weight, time_step, numbers)


def adam_updater(
    acc_first_order: Tensor,
    acc_second_order: Tensor,
    weight: Tensor | None = None,
    time_step: Tensor | None = None,
    weight_decay: Value = None,
    beta1: Value = None,
    beta2: Value = None,
    epsilon: float | Tensor = 1e-7,
) -> Tensor:
    """Adam's update from the moments; `time_step` counts up and corrects their bias."""
    numbers = {"weight_decay": weight_decay, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return _corrected("Adam", acc_first_order, acc_second_order, weight, time_step, numbers)


def lamb_updater(
    acc_first_order: Tensor,
    acc_second_order: Tensor,
    weight: Tensor | None = None,
    time_step: Tensor | None = None,
    weight_decay: Value = None,
    beta1: Value = None,
    beta2: Value = None,
    epsilon: float | Tensor = 1e-7,
) -> Tensor:
    """LAMB's update from the moments."""
    numbers = {"weight_decay": weight_decay, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return _corrected("Lamb", acc_first_order, acc_second_order, weight, time_step, numbers)


def adamax_updater(
    acc_first_order: Tensor,
    acc_second_order: Tensor,
    weight: Tensor | None = None,
    time_step: Tensor | None = None,
    weight_decay: Value = None,
    beta1: float | Tensor = 0.9,
    epsilon: float | Tensor = 1e-7,
) -> Tensor:
    """AdaMax's update from the moment and the largest gradient."""
    _check_decay(weight_decay, weight)
    if time_step is None:
        raise ValueError("AdaMax requires time_step to not be None.")
    numbers = {"weight_decay": weight_decay, "beta1": beta1, "beta2": None, "epsilon": epsilon}
    return _updater("AdaMax", acc_first_order, acc_second_order, weight, time_step, numbers)


def adam_var_update(
    t: Tensor, x: Tensor, r1: Tensor, r2: Tensor, learning_rate: Value = None, max_weight_norm: Value = None
) -> Tensor:
    """Subtract an update times the learning rate and the ratio of the norms whose squares are `r1` and `r2`."""
    tensors = {"t": t, "x": x, "r1": r1, "r2": r2}
    places = [0, 1, 2, 3]
    attributes: dict[str, Any] = {"learning_rate": 1.0 if learning_rate is None else learning_rate}
    attributes["max_weight_norm"] = max_weight_norm
    for place, name in ((4, "learning_rate"), (5, "max_weight_norm")):
        if isinstance(attributes[name], Tensor):
            tensors[name] = attributes[name]
            attributes[name] = None
            places.append(place)
    return create("AdamVarUpdate", tensors, "adam_var_update_out", attributes, places=places)
