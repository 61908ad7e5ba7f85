"""The values of optimizers: numbers that are constant or may change between runs, by weight, and norms to clip by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._exceptions import popart_exception


class OptimizerValue:
    """A number, and whether it is constant after compilation."""

    def __init__(self, val: float | tuple[float, bool] = 0.0, isConst: bool | None = None) -> None:
        if isinstance(val, tuple):
            val, isConst = val
        self._value = float(val)
        self._constant = True if isConst is None else bool(isConst)

    def val(self) -> float:
        """The number."""
        return self._value

    def isConst(self) -> bool:
        """Whether the value is constant after compilation."""
        return self._constant

    def validReplacement(self, other: OptimizerValue) -> None:
        """Raise if `other` cannot take the place of this value in a compiled model."""
        if self._constant != other._constant:
            raise popart_exception("Can not replace a constant value with a non constant value.")
        if self._constant and self._value != other._value:
            raise popart_exception("Values are constant but do not match.")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OptimizerValue)
            and self._constant == other._constant
            and (not self._constant or self._value == other._value)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OptimizerValue({self._value:g}, {self._constant})"


class OptimizerValueMap:
    """One value of an optimizer: that of all weights, and those of some."""

    def __init__(self, default: OptimizerValue, specifics: Mapping[str, OptimizerValue]) -> None:
        self._default = default
        self._specifics = dict(specifics)

    def get(self, weight: str) -> OptimizerValue:
        """The value of a weight."""
        return self._specifics.get(weight, self._default)

    def getDefault(self) -> OptimizerValue:
        """The value of weights that have none of their own."""
        return self._default

    def hasSpecific(self, weight: str | None = None) -> bool:
        """Whether a weight (or any weight) has a specific value."""
        return bool(self._specifics) if weight is None else weight in self._specifics


class ClipNormSettings:
    """A limit for the global norm of the gradients of some weights, or of all."""

    def __init__(self, weightIds: Iterable[str], maxNorm: float) -> None:
        self.weightIds = list(weightIds)
        self.maxNorm = float(maxNorm)
        self._all = False

    @classmethod
    def clipWeights(cls, weightIds: Iterable[str], maxNorm: float) -> ClipNormSettings:
        """Of these weights."""
        return cls(weightIds, maxNorm)

    @classmethod
    def clipAllWeights(cls, maxNorm: float) -> ClipNormSettings:
        """Of all weights together."""
        made = cls([], maxNorm)
        made._all = True
        return made


def optimizer_values(values: Mapping[str, Any]) -> dict[str, OptimizerValue]:
    found = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise popart_exception(f"A key in the optimizer map must be a str; {key!r} is not.")
        if isinstance(value, OptimizerValue):
            found[key] = value
        elif isinstance(value, tuple) and len(value) == 2:
            found[key] = OptimizerValue(float(value[0]), bool(value[1]))
        else:
            raise popart_exception(
                f"A value in the optimizer map must be a tuple (number, whether it is constant); {key} has {value!r}."
            )
    return found


__all__ = ["ClipNormSettings", "OptimizerValue", "OptimizerValueMap"]
