"""UResNet3D: the three planes stacked as a volume of depth three.

Filters are one plane deep everywhere but at the lowest resolution, where two filters of depth three mix the planes.
It differs from the 2D form in more than the dimension, as the original does: skips leave after a level's blocks
and come in last, images are doubled by repetition, up- and downsampling convolutions end in a plain ReLU, and
statistics of norms are those of all planes together. Weights start as torch starts them.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from cosmictagger.network.blocks import SteadyBatchNorm
from cosmictagger.network.configurations import (
    CLASSES,
    PLANES,
    Connection,
    DownSampling,
    NetworkConfig,
    Norm,
    UpSampling,
)

#: halving and doubling leave the planes alone
_HALF = (1, 2, 2)


class Block3D(nn.Module):
    """Convolution, norm and activation.

    Args:
        inputs: channels of the volumes that come in.
        outputs: channels of those that go out.
        config: says whether there are biases and norms.
        kernel: width of the filters.
        across: filters are three planes deep.
        conv: the convolution, if it is none of these.
        slope: of the leaky ReLU for negative numbers; None leaves it out.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        config: NetworkConfig,
        *,
        kernel: int = 3,
        across: bool = False,
        conv: nn.Module | None = None,
        slope: float | None = 0.01,
    ) -> None:
        super().__init__()
        deep = PLANES if across else 1
        self.conv = conv or nn.Conv3d(
            inputs,
            outputs,
            (deep, kernel, kernel),
            padding=(deep // 2, kernel // 2, kernel // 2),
            bias=config.bias,
        )
        self.norm = SteadyBatchNorm(outputs) if config.normalization is Norm.batch else nn.Identity()
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply it to volumes [B, inputs, planes, H, W]."""
        x = self.norm(self.conv(x))
        if self.slope is None:
            return x
        return functional.leaky_relu(x, self.slope) if self.slope else functional.relu(x)


class ResidualBlock3D(nn.Module):
    """Two convolutions with a bypass."""

    def __init__(self, channels: int, config: NetworkConfig, *, kernel: int = 3) -> None:
        super().__init__()
        self.convolution_1 = Block3D(channels, channels, config, kernel=kernel)
        self.convolution_2 = Block3D(channels, channels, config, kernel=kernel, slope=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply it to volumes [B, channels, planes, H, W]."""
        return functional.leaky_relu(self.convolution_2(self.convolution_1(x)) + x)


def _series(channels: int, count: int, config: NetworkConfig, *, kernel: int = 3) -> nn.Sequential:
    if config.residual:
        return nn.Sequential(*(ResidualBlock3D(channels, config, kernel=kernel) for _ in range(count)))
    return nn.Sequential(*(Block3D(channels, channels, config, kernel=kernel) for _ in range(count)))


class Down3D(nn.Module):
    """The way down at one level; gives what goes below and what the way up will meet."""

    def __init__(self, level: int, config: NetworkConfig) -> None:
        super().__init__()
        here, below = config.filters(level), config.filters(level + 1)
        self.blocks = _series(here, config.blocks_per_layer, config)
        self.convolutional = config.downsampling is DownSampling.convolutional
        if self.convolutional:
            conv = nn.Conv3d(here, below, _HALF, stride=_HALF, bias=config.bias)
            self.downsample = Block3D(here, below, config, conv=conv, slope=0.0)
        else:
            self.downsample = Block3D(here, below, config, kernel=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Halve volumes [B, C, planes, H, W]."""
        x = self.blocks(x)
        below = x if self.convolutional else functional.max_pool3d(x, _HALF, _HALF)
        return self.downsample(below), x


class Up3D(nn.Module):
    """The way up at one level."""

    def __init__(self, level: int, config: NetworkConfig) -> None:
        super().__init__()
        here, below = config.filters(level), config.filters(level + 1)
        self.convolutional = config.upsampling is UpSampling.convolutional
        self.connections = config.connections
        if self.convolutional:
            conv = nn.ConvTranspose3d(below, here, _HALF, stride=_HALF, bias=config.bias)
            self.upsample = Block3D(below, here, config, conv=conv, slope=0.0)
        else:
            self.upsample = Block3D(below, here, config, kernel=1)
        self.blocks = _series(here, config.blocks_per_layer, config)
        if self.connections is Connection.concat:
            self.connection = Block3D(2 * here, here, config, kernel=1)

    def forward(self, x: torch.Tensor, skipped: torch.Tensor) -> torch.Tensor:
        """Double volumes [B, C, planes, h, w]."""
        if not self.convolutional:
            x = functional.interpolate(x, scale_factor=(1.0, 2.0, 2.0), mode="nearest")
        x = self.blocks(self.upsample(x))
        if self.connections is Connection.concat:
            return self.connection(torch.cat((x, skipped), dim=1))
        return x + skipped if self.connections is Connection.sum else x


class Deepest3D(nn.Module):
    """The lowest resolution, where planes meet."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels, width = config.filters(config.depth), config.bottleneck_deepest
        self.merger = Block3D(channels, width, config, kernel=1, across=True)
        self.blocks = _series(width, config.blocks_deepest_layer, config, kernel=config.filter_size_deepest)
        self.splitter = Block3D(width, channels, config, kernel=1, across=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply it to volumes [B, C, planes, h, w]."""
        return self.splitter(self.blocks(self.merger(x)))


class UResNet3D(nn.Module):
    """Logits of each pixel of three planes that are seen as one volume.

    Args:
        config: the shape of the network.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.initial = Block3D(1, config.n_initial_filters, config, kernel=5)
        self.down = nn.ModuleList(Down3D(level, config) for level in range(config.depth))
        self.deepest = Deepest3D(config)
        self.up = nn.ModuleList(Up3D(level, config) for level in range(config.depth))
        self.final = _series(config.n_initial_filters, config.blocks_final, config)
        self.head = nn.Conv3d(config.n_initial_filters, CLASSES, 1, bias=config.bias)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Logits [B, classes, H, W] of each plane of images [B, planes, H, W]."""
        if image.shape[1] != PLANES:
            raise ValueError(
                f"an event has {PLANES} planes: images are [batch, {PLANES}, H, W], not {image.shape[1]}."
            )
        self.config.check_image(image.shape[2], image.shape[3])
        x = self.initial(image.unsqueeze(1))
        skipped = []
        for level in self.down:
            x, aside = level(x)
            skipped.append(aside)
        x = self.deepest(x)
        for level, before in zip(reversed(self.up), reversed(skipped), strict=True):
            x = level(x, before)
        return self.head(self.final(x)).unbind(dim=2)
