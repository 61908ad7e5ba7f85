"""What the image classifiers are fed with: pixels in the network's type, or in eight bits as the host sends them."""

from __future__ import annotations

import torch
from torch import Tensor


def image_batch(
    batch: int, size: int, dtype: torch.dtype, *, eight_bit: bool, training: bool
) -> dict[str, Tensor]:
    """One micro-batch of square images, with labels for training."""
    given = {"images": torch.empty(batch, 3, size, size, dtype=torch.uint8 if eight_bit else dtype)}
    if training:
        given["labels"] = torch.empty(batch, dtype=torch.int32)
    return given


def normalised(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Pixels of eight bits, normalised on the device."""
    return (images.to(dtype) - 120.0) * 0.0172
