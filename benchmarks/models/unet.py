"""The U-Net of Ronneberger et al. (2015): unpadded convolutions, cropped connections, 572 x 572 pixels."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional


class Double(nn.Sequential):
    """Two 3x3 convolutions."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(nn.Conv2d(channels, width, 3), nn.ReLU(), nn.Conv2d(width, width, 3), nn.ReLU())


class UNet(nn.Module):
    """Segmentation; `down.N` and `up.N` are the blocks that a pipeline may be cut at."""

    def __init__(self, image: int = 572, classes: int = 2, width: int = 64, levels: int = 4) -> None:
        super().__init__()
        self.image = image
        widths = [width * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(
            Double(before, after) for before, after in zip([1, *widths], widths, strict=False)
        )
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.5)
        backwards = widths[::-1]
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in itertools.pairwise(backwards))
        self.up = nn.ModuleList(Double(a, b) for a, b in itertools.pairwise(backwards))
        self.head = nn.Conv2d(width, classes, 1)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"images": torch.empty(batch, 1, self.image, self.image, dtype=self.head.weight.dtype)}
        if training:
            side = self.image
            for _ in self.grow:
                side = (side - 4) // 2
            side -= 4
            for _ in self.grow:
                side = 2 * side - 4
            given["labels"] = torch.empty(batch, side, side, dtype=torch.int32)
        return given

    def forward(self, images: Tensor, labels: Tensor | None = None):
        x = images
        kept = []
        for block in self.down[:-1]:
            x = block(x)
            kept.append(x)
            x = self.pool(x)
        x = self.dropout(self.down[-1](x))
        for grow, block in zip(self.grow, self.up, strict=True):
            x = grow(x)
            beside = kept.pop()
            edge = (beside.shape[-1] - x.shape[-1]) // 2
            x = block(torch.cat([beside[..., edge : edge + x.shape[-2], edge : edge + x.shape[-1]], x], 1))
        x = self.head(x)
        return x if labels is None else (x, functional.cross_entropy(x, labels))
