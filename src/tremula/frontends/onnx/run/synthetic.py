"""Data made on the device, in the place of what the host would send."""

from __future__ import annotations

from enum import Enum

import torch

from tremula.frontends.onnx.shapes import TensorType


class Synthetic(Enum):
    """What inputs hold that are not sent."""

    Off = "off"
    Zeros = "zeros"
    RandomNormal = "normal"
    RandomUniform = "uniform"

    def make(self, kind: TensorType, generator: torch.Generator) -> torch.Tensor:
        """An input: whole numbers are drawn too, and rounded."""
        if self is Synthetic.RandomNormal:
            drawn = torch.randn(kind.shape, generator=generator)
        elif self is Synthetic.RandomUniform:
            drawn = torch.rand(kind.shape, generator=generator)
        else:
            drawn = torch.zeros(kind.shape)
        return drawn.to(kind.dtype)
