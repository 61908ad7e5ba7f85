"""Regions of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Region:
    """The elements of a tensor from lower to upper bounds."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @classmethod
    def getFull(cls, shape: Sequence[int]) -> Region:
        """All elements."""
        return cls((0,) * len(shape), tuple(shape))

    @classmethod
    def getEmpty(cls, rank: int) -> Region:
        """No elements."""
        return cls((0,) * rank, (0,) * rank) if rank else cls((0,), (0,))

    def isEmpty(self) -> bool:
        """Whether there are no elements."""
        return any(low >= high for low, high in zip(self.lower, self.upper, strict=True))
