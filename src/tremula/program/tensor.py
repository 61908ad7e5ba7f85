"""One tensor of a program: its size, what it is for, and in whose bytes it lies."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.Enum):
    """What a tensor is for, which decides how long and where it lives."""

    PARAMETER = "weights"
    BUFFER = "buffers"
    INPUT = "inputs"
    CONSTANT = "constants"
    STATE = "optimizer state"
    ACCUMULATOR = "gradient accumulators"
    #: learning rates, loss scale and their like
    SCALAR = "scalars"
    ACTIVATION = "activations"

    __hash__ = object.__hash__  # members are single objects; the default goes through their names


#: kinds of tensors that keep their value from step to step
LASTING = frozenset({Role.PARAMETER, Role.BUFFER, Role.CONSTANT, Role.STATE, Role.ACCUMULATOR, Role.SCALAR})


@dataclass(slots=True)
class Tensor:
    """A tensor. `storage` is the number of the tensor in whose bytes it lies: its own unless it is a view."""

    name: str
    elements: int
    bytes: int
    kind: Role = Role.ACTIVATION
    storage: int = -1
    #: the op that makes it; -1: it is there before the step begins
    producer: int = -1
    #: where it lives: that of its producer, or of the first op that reads it
    ipu: int = 0
    #: name of the user's module
    scope: tuple[str, ...] = ()
    #: its dotted path
    module: str = ""
    #: number of the parameter that it accumulates for or is the state of; -1: of none
    owner: int = -1
