"""One tensor of a program: its size, what it is for, and in whose bytes it lies."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from tremula.program.dtypes import ITEM_BYTES


class Role(enum.Enum):
    """What a tensor is for; it decides how long and where the tensor lives."""

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


#: roles of tensors that keep their value from step to step
LASTING = frozenset({Role.PARAMETER, Role.BUFFER, Role.CONSTANT, Role.STATE, Role.ACCUMULATOR, Role.SCALAR})


@dataclass(slots=True)
class Tensor:
    """A tensor. `storage` is the number of the tensor in whose bytes it lies: its own unless it is a view."""

    name: str
    shape: tuple[int, ...]
    #: the device's name of its type, see dtypes.py
    dtype: str = "fp32"
    role: Role = Role.ACTIVATION
    storage: int = -1
    #: the op that makes it; -1: it is there before the step begins
    producer: int = -1
    #: where it lives: on the IPU of its producer, or of the first op that reads it
    ipu: int = 0
    #: name of the user's module
    scope: tuple[str, ...] = ()
    #: its dotted path
    module: str = ""
    #: number of the parameter that it accumulates for or is the state of; -1: none
    owner: int = -1
    #: bytes in memory, by default those of all elements; 0: it only exists within a fused pass
    bytes: int = -1
    elements: int = field(init=False)

    def __post_init__(self) -> None:
        self.elements = math.prod(self.shape)
        if self.bytes < 0:
            self.bytes = self.elements * ITEM_BYTES[self.dtype]
