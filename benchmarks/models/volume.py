"""A convolutional network on volumes, in the manner of CosmoFlow: parameters of a universe from four 3D histograms.

Five convolutions of kernel 3 with pooling, then three linear layers; the extent of the volume halves at each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class VolumeCnn(nn.Module):
    """Regression of `targets` numbers from a volume of `extent` cubed with `channels` channels."""

    def __init__(self, extent: int = 64, channels: int = 4, width: int = 16, targets: int = 4) -> None:
        super().__init__()
        self.extent, self.channels, self.targets = extent, channels, targets
        layers: list[nn.Module] = []
        before = channels
        for level in range(5):
            after = width * 2**level
            layers += [nn.Conv3d(before, after, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
            before = after
        self.body = nn.Sequential(*layers)
        features = before * (extent // 32) ** 3
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(features, 128), nn.LeakyReLU(0.3), nn.Dropout(0.5), nn.Linear(128, 64),
            nn.LeakyReLU(0.3), nn.Dropout(0.5), nn.Linear(64, targets),
        )  # fmt: skip

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = next(self.parameters()).dtype
        given = {"volumes": torch.empty(batch, self.channels, *[self.extent] * 3, dtype=dtype)}
        if training:
            given["targets"] = torch.empty(batch, self.targets, dtype=dtype)
        return given

    def forward(self, volumes: Tensor, targets: Tensor | None = None):
        x = self.head(self.body(volumes))
        return x if targets is None else (x, functional.mse_loss(x, targets))
