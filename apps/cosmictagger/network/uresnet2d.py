"""UResNet2D: a U-shaped network for three wire planes that share their weights.

Each plane is an image; planes meet at the lowest resolution only. The same numbers as the original's network with
the same weights, in training and in evaluation.
"""

from __future__ import annotations

import torch
from torch import nn

from cosmictagger.network.blocks import Block, Deepest, Down, Planes, Up, series
from cosmictagger.network.configurations import CLASSES, PLANES, NetworkConfig


class UResNet2D(nn.Module):
    """Logits of each pixel of three planes.

    Args:
        config: the shape of the network.
        fold_planes: treat the planes of an event as three images of one batch. The numbers are the same, running
            statistics included; it is faster on IPUs and slower on processors.
    """

    def __init__(self, config: NetworkConfig, fold_planes: bool = False) -> None:
        super().__init__()
        self.config = config
        self.fold_planes = fold_planes
        self.initial = Block(1, config.n_initial_filters, config, kernel=5)
        self.down = nn.ModuleList(Down(level, config) for level in range(config.depth))
        self.deepest = Deepest(config)
        self.up = nn.ModuleList(Up(level, config) for level in range(config.depth))
        self.final = series(config.n_initial_filters, config.blocks_final, config)
        self.head = nn.Conv2d(config.n_initial_filters, CLASSES, 1, bias=config.bias)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, image: torch.Tensor) -> Planes:
        """Logits [B, classes, H, W] of each plane of images [B, planes, H, W]."""
        batch, count, height, width = image.shape
        if count != PLANES:
            raise ValueError(
                f"an event has {PLANES} planes: images are [batch, {PLANES}, H, W], not {count}."
            )
        self.config.check_image(height, width)
        planes: Planes = image.chunk(PLANES, dim=1)
        if self.fold_planes:
            planes = (image.reshape(batch * PLANES, 1, height, width),)
        planes = self.initial(planes)
        skipped = []
        for level in self.down:
            skipped.append(planes)
            planes = level(planes)
        planes = self.deepest(planes)
        for level, before in zip(reversed(self.up), reversed(skipped), strict=True):
            planes = level(planes, before)
        logits = tuple(self.head(x) for x in self.final(planes))
        if self.fold_planes:
            return logits[0].reshape(batch, PLANES, CLASSES, height, width).unbind(dim=1)
        return logits
