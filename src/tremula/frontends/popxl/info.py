"""What is known of a tensor and of an op before anything runs: shapes, types and places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tremula.frontends.popxl.elements import ELEMENTS


@dataclass(frozen=True)
class TensorInfo:
    """Element type and static shape. `meta_shape` is the whole tensor's, where this one is a shard of it."""

    dtype: str
    shape: tuple[int, ...]
    meta_shape: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes on the device."""
        return self.elements * ELEMENTS[self.dtype].size

    def with_meta_shape(self, shape: Sequence[int]) -> TensorInfo:
        """The same tensor as a shard of one of that shape."""
        return replace(self, meta_shape=tuple(shape))


class TensorKind(Enum):
    """Where the value of a tensor comes from."""

    ACT_GRAD = "ActGrad"
    VARIABLE = "Variable"
    CONST = "Const"
    STREAM = "Stream"


class Fragment(Enum):
    """When an op of the main graph runs."""

    NORMAL = "Normal"
    #: whenever variables are copied to the device
    WEIGHTS_FROM_HOST = "WeightsFromHostFragment"
    #: whenever they are copied back
    WEIGHTS_TO_HOST = "WeightsToHostFragment"


@dataclass(frozen=True)
class Settings:
    """What the context said when an op was created."""

    name: str = ""
    #: None: not said
    ipu: int | None = None
    io_tiles: bool = False
    fragment: Fragment = Fragment.NORMAL
    scope: tuple[str, ...] = ()
