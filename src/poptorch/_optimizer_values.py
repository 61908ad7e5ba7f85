"""The optimizers that the device has an update for, and the values of their parameter groups."""

from __future__ import annotations

import enum
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tremula.frontends.torch.optimize.spec import Kind

from . import optim

#: name in the dictionary -> (value, constant)
Values = dict[str, tuple[float, bool]]


class OptimizerType(enum.IntEnum):
    """An update of the device."""

    SGD1 = 0
    SGD2 = 1
    ADAM = 2
    ADAMW = 3
    ADAMW_NO_BIAS = 4
    RMSPROP = 5
    RMSPROP_CENTERED = 6
    LAMB = 7
    LAMB_NO_BIAS = 8

    @property
    def kind(self) -> Kind:
        """The update rule, whose name begins that of the type."""
        return Kind[self.name.partition("_")[0].rstrip("12")]


@dataclass(frozen=True)
class Value:
    """A value of a parameter group: where it is, what it is called below, when it is constant for torch."""

    attribute: str
    name: str
    is_default: Callable[[float], bool]
    fallback: float | None = None
    member: int | None = None

    def read(self, group: dict[str, Any], variable: optim.VariableAttributes | None) -> tuple[float, bool]:
        """The value in a group, and whether it is constant."""
        value = group.get(self.attribute, self.fallback)
        if value is None:
            raise AssertionError(f"The optimizer's parameter groups lack the value {self.attribute}")
        if self.member is not None:
            if not isinstance(value, tuple | list):
                raise AssertionError(f"{self.attribute} must be a pair, not {value}")
            if len(value) != 2:
                raise AssertionError(f"{self.attribute} must be a pair, not {value}")
            value = value[self.member]
        number = number_of(value, self.attribute)
        constant = self.is_default(number) if variable is None else variable.isConstant(self.attribute)
        return number, constant


def number_of(value: Any, attribute: str) -> float:
    """The value of an attribute; anything but one number is refused."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if not isinstance(value, numbers.Real):
        raise AssertionError(f"{attribute} must be a number, not {value}")
    return float(value)


def _equals(default: float) -> Callable[[float], bool]:
    return lambda value: value == default


def _always(_: float) -> bool:
    return True


def _never(_: float) -> bool:
    return False


_RATE = Value("lr", "learningRate", _never)
_DECAY = Value("weight_decay", "weightDecay", _equals(0.0))
_ADAMW_DECAY = Value("weight_decay", "weightDecay", _equals(1e-2))
_MOMENTUM = Value("momentum", "momentum", _equals(0.0))
_EPS = Value("eps", "eps", _equals(1e-8))
_BETAS = (Value("betas", "beta1", _always, member=0), Value("betas", "beta2", _always, member=1))
_SGD_VALUES = (
    _RATE,
    _MOMENTUM,
    Value("dampening", "dampening", _equals(0.0)),
    _DECAY,
    Value("nesterov", "nesterov", _always),
    Value("velocity_scaling", "velocityScaling", _equals(1.0), fallback=1.0),
)
#: by update rule
VALUES = {
    Kind.SGD: _SGD_VALUES,
    Kind.ADAM: (_RATE, *_BETAS, _EPS, _DECAY),
    Kind.ADAMW: (_RATE, *_BETAS, _EPS, _ADAMW_DECAY),
    Kind.RMSPROP: (_RATE, _MOMENTUM, _DECAY, Value("alpha", "alpha", _always), _EPS),
    Kind.LAMB: (_RATE, _DECAY, *_BETAS, _EPS, Value("max_weight_norm", "maxWeightNorm", _equals(65500.0))),
}
