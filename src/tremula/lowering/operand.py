"""Tensors as lowering sees them: extents, strides and the device's name of the type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Maker = TypeVar("Maker", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Operand(Generic[Maker]):
    """One tensor: what a planner may ask of it. `node` is what its front end knows it by."""

    node: Maker | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    elements: int

    @property
    def distinct(self) -> int:
        """Elements without those that are only repeated (expanded) ones."""
        if 0 not in self.strides:
            return self.elements
        return math.prod(n for n, s in zip(self.shape, self.strides, strict=True) if s != 0)

    def inner(self, dim: int) -> int:
        """Elements of one step along dimension `dim`."""
        return math.prod(self.shape[dim % max(1, len(self.shape)) + 1 :])

    def extent(self, dim: int) -> int:
        """Extent of `dim`; a scalar has one element in any."""
        return self.shape[dim] if self.shape else 1


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor whose last dimension lies together, then the one before it, and so on."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)
