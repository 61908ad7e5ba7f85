"""The arguments of automatic loss scaling: defaults, checks, and the properties that change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tremula.frontends.tensorflow.keras.optimizers import loss_scale


class ALSDefaults:
    """The arguments of `ALSOptimizer` that are left out."""

    initial_loss_scaling_factor = 1
    update_frequency = 8
    increase_factor = 2
    max_loss_scaling_factor = 32768
    accumulate_statistics_over_update_period = True
    ratio_threshold = 10e-6
    captured_grads_only = False
    lpf_alpha = 0.0
    histogram_bin_edge = 2**13


def read_only(name: str, doc: str, value: Callable[[Any], Any]) -> property:
    """A property that programs can read only."""

    def refuse(self: Any, _: Any) -> None:
        raise ValueError(f"{name} is a read only property: the optimizer changes it itself.")

    return property(value, refuse, doc=doc)


def setting(name: str, variable: str | None = None, *, resets: bool = False) -> property:
    """A property for an argument.

    Args:
        name: the argument.
        variable: the variable of the rule that has its value.
        resets: whether a change begins the statistics again.
    """

    def get(self: Any) -> Any:
        return self._settings[name]

    def set_(self: Any, value: Any) -> None:
        values = {**self._settings, name: value}
        check(values)
        changed = value != self._settings[name]
        self._settings = values
        if variable is not None:
            getattr(self._rule, variable).assign(value)
        if resets and changed:
            self.reset()

    return property(get, set_, doc=f"The argument `{name}`.")


def check(values: dict[str, Any]) -> None:
    """Refuse arguments that are out of their range.

    Raises:
        ValueError: one is.
    """
    for name in ("initial_loss_scaling_factor", "increase_factor", "max_loss_scaling_factor"):
        if not loss_scale.is_power_of_two(values[name]):
            raise ValueError(f"{name} must be a power of two, but it is {values[name]}.")
    first, increase, largest = (
        values[name] for name in ("initial_loss_scaling_factor", "increase_factor", "max_loss_scaling_factor")
    )
    if values["update_frequency"] <= 0:
        raise ValueError(
            f"update_frequency must be nonzero and positive, but it is {values['update_frequency']}."
        )
    if not 0 < values["ratio_threshold"] < 1:
        raise ValueError(
            f"ratio_threshold must be greater than zero and less than one, but it is {values['ratio_threshold']}."
        )
    if not 0 <= values["lpf_alpha"] <= 1:
        raise ValueError(f"lpf_alpha must be between zero and one, but it is {values['lpf_alpha']}.")
    if first >= largest:
        raise ValueError(
            f"initial_loss_scaling_factor must be less than max_loss_scaling_factor: {first}, {largest}."
        )
    if first * increase >= largest:
        raise ValueError(
            f"initial_loss_scaling_factor x increase_factor must be less than max_loss_scaling_factor, but {first} x "
            f"{increase} is not less than {largest}."
        )
