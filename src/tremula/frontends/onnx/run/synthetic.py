"""Data made on the device, in the place of what the host would send."""

from __future__ import annotations

from enum import Enum

import torch

from tremula.frontends.onnx.shapes import TensorType

#: the smallest and the largest number of types of a byte; larger ones may be indices, which have to stay small
_RANGES = {torch.bool: (0, 1), torch.int8: (-128, 127), torch.uint8: (0, 255)}


class Synthetic(Enum):
    """What inputs hold that are not sent."""

    Off = "off"
    Zeros = "zeros"
    RandomNormal = "normal"
    RandomUniform = "uniform"

    def make(self, kind: TensorType, generator: torch.Generator) -> torch.Tensor:
        """An input: whole numbers are drawn too, and rounded; uniform ones of a byte fill its range."""
        if self is Synthetic.RandomUniform and kind.dtype in _RANGES:
            low, high = _RANGES[kind.dtype]
            return torch.randint(low, high + 1, kind.shape, generator=generator).to(kind.dtype)
        if self is Synthetic.RandomNormal:
            drawn = torch.randn(kind.shape, generator=generator)
        elif self is Synthetic.RandomUniform:
            drawn = torch.rand(kind.shape, generator=generator)
        else:
            drawn = torch.zeros(kind.shape)
        # what is below zero would become the largest unsigned numbers, which are no indices
        return (drawn if kind.dtype.is_signed else drawn.clamp(min=0)).to(kind.dtype)
