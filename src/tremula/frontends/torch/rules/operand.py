"""Tensors as lowering sees them: extents, strides and the device's name of the type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import fx

from tremula.frontends.torch.dtypes import dtype_name


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One tensor: what a planner may ask of it."""

    node: fx.Node | None
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


def operand(tensor: torch.Tensor, node: fx.Node | None = None) -> Operand:
    """The description of a (fake) tensor."""
    shape = tuple(tensor.shape)
    strides = tensor.stride() if tensor.layout is torch.strided else _dense_strides(shape)
    return Operand(node, shape, tuple(strides), dtype_name(tensor.dtype), math.prod(shape))


def _dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)
