"""Building blocks of the 2D network, which take all three planes at a time.

Planes share their weights and meet at the lowest resolution only. Blocks take them as a tuple: three batches of
images [B, C, H, W], one after the other as the original does it, or one folded batch [3 B, C, H, W] with planes
varying fastest. Both give the same numbers (see `PlaneBatchNorm`): the first is faster on processors, whose
caches hold a plane, the second on IPUs, which like few large operations.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from cosmictagger.network.configurations import (
    PLANES,
    Connection,
    DownSampling,
    NetworkConfig,
    Norm,
    UpSampling,
)

#: images of all planes: one batch for each, or all in one
Planes = tuple[torch.Tensor, ...]


class SteadyBatchNorm(nn.BatchNorm2d):
    """A batch norm whose running statistics stay in single precision when the model is made half.

    The variance of raw charges is above the largest half-precision number, 65504. It takes images and volumes.
    """

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> SteadyBatchNorm:
        before = self.running_mean, self.running_var
        super()._apply(fn, recurse)
        for name, kept in zip(("running_mean", "running_var"), before, strict=True):
            moved = getattr(self, name)
            if moved.dtype in (torch.float16, torch.bfloat16):
                setattr(self, name, kept.to(device=moved.device, dtype=torch.float32))
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise each channel."""
        if self.training:
            self.num_batches_tracked.add_(1)
        return self._normalise(x, self.running_mean, self.running_var, self.weight, self.bias)

    def _normalise(
        self,
        x: torch.Tensor,
        mean: torch.Tensor,
        var: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        # torch takes half images with single-precision statistics if everything but the image is single
        return functional.batch_norm(
            x, mean, var, weight.to(mean.dtype), bias.to(mean.dtype), self.training, self.momentum, self.eps
        )


class PlaneBatchNorm(SteadyBatchNorm):
    """A batch norm that knows folded planes.

    The original calls a norm once for each plane, so each is normalised with its own mean and variance and running
    statistics are updated three times, by plane 0, 1 and 2. Folded planes get exactly that in one operation.
    """

    def forward(self, x: torch.Tensor, folded: bool = False) -> torch.Tensor:
        """Normalise each channel, of each plane if planes are folded."""
        if not (folded and self.training):
            return super().forward(x)
        images, channels, height, width = x.shape
        wide = x.reshape(images // PLANES, PLANES * channels, height, width)
        mean, var = self.running_mean.repeat(PLANES), self.running_var.repeat(PLANES)
        out = self._normalise(wide, mean, var, self.weight.repeat(PLANES), self.bias.repeat(PLANES))
        with torch.no_grad():
            self.num_batches_tracked.add_(PLANES)
            self.running_mean.copy_(self._after_all(self.running_mean, mean))
            self.running_var.copy_(self._after_all(self.running_var, var))
        return out.reshape(images, channels, height, width)

    def _after_all(self, old: torch.Tensor, once: torch.Tensor) -> torch.Tensor:
        """What three updates in turn leave, from what one update by each plane would have left."""
        keep = 1 - self.momentum
        first, second, third = once.view(PLANES, -1)
        return keep * (keep * (first - old) + second - old) + third


class Block(nn.Module):
    """Convolution, norm and leaky ReLU.

    Args:
        inputs: channels of the images that come in.
        outputs: channels of those that go out.
        config: says whether there are biases and norms.
        kernel: width of the filters, which leave the size of the image.
        halve: 2x2 filters side by side instead, which halve the image.
        double: "convolutional", the transposed form of that, or "interpolation"; both double the image.
        active: False leaves the leaky ReLU out.
        mixed: images are of all planes together already, so the norm has one set of statistics.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        config: NetworkConfig,
        *,
        kernel: int = 3,
        halve: bool = False,
        double: UpSampling | None = None,
        active: bool = True,
        mixed: bool = False,
    ) -> None:
        super().__init__()
        if double is UpSampling.convolutional:
            self.conv: nn.Module = nn.ConvTranspose2d(inputs, outputs, 2, stride=2, bias=config.bias)
        elif halve:
            self.conv = nn.Conv2d(inputs, outputs, 2, stride=2, bias=config.bias)
        else:
            self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=config.bias)
        self.norm = PlaneBatchNorm(outputs) if config.normalization is Norm.batch else None
        self.interpolated = double is UpSampling.interpolation
        self.active = active
        self.mixed = mixed

    def forward(self, planes: Planes) -> Planes:
        """Apply it to images [N, inputs, H, W] of each plane."""
        folded = len(planes) == 1 and not self.mixed
        return tuple(self._one(x, folded) for x in planes)

    def _one(self, x: torch.Tensor, folded: bool) -> torch.Tensor:
        x = self.conv(x)
        if self.interpolated:
            # the original interpolates first. Both are linear and the weights of a pixel add up to one, so the
            # result is the same; this order needs a quarter of the arithmetic and less memory
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        if self.norm is not None:
            x = self.norm(x, folded)
        return functional.leaky_relu(x) if self.active else x


class ResidualBlock(nn.Module):
    """Two convolutions with a bypass."""

    def __init__(self, channels: int, config: NetworkConfig, *, kernel: int = 3, mixed: bool = False) -> None:
        super().__init__()
        self.convolution_1 = Block(channels, channels, config, kernel=kernel, mixed=mixed)
        self.convolution_2 = Block(channels, channels, config, kernel=kernel, active=False, mixed=mixed)

    def forward(self, planes: Planes) -> Planes:
        """Apply it to images [N, channels, H, W] of each plane."""
        through = self.convolution_2(self.convolution_1(planes))
        return tuple(functional.leaky_relu(x + past) for x, past in zip(through, planes, strict=True))


def series(
    channels: int, count: int, config: NetworkConfig, *, kernel: int = 3, mixed: bool = False
) -> nn.Sequential:
    """`count` blocks, residual or plain, that leave the shape of the images."""
    if config.residual:
        blocks: list[nn.Module] = [
            ResidualBlock(channels, config, kernel=kernel, mixed=mixed) for _ in range(count)
        ]
    else:
        blocks = [Block(channels, channels, config, kernel=kernel, mixed=mixed) for _ in range(count)]
    return nn.Sequential(*blocks)


class Down(nn.Module):
    """The way down at one level: blocks, then half the image with more filters."""

    def __init__(self, level: int, config: NetworkConfig) -> None:
        super().__init__()
        here, below = config.filters(level), config.filters(level + 1)
        self.blocks = series(here, config.blocks_per_layer, config)
        self.convolutional = config.downsampling is DownSampling.convolutional
        self.downsample = Block(here, below, config, kernel=1, halve=self.convolutional)

    def forward(self, planes: Planes) -> Planes:
        """Halve images [N, C, H, W] of each plane."""
        planes = self.blocks(planes)
        if not self.convolutional:
            planes = tuple(functional.max_pool2d(x, 2) for x in planes)
        return self.downsample(planes)


class Up(nn.Module):
    """The way up at one level: twice the image, the connection with the way down, blocks."""

    def __init__(self, level: int, config: NetworkConfig) -> None:
        super().__init__()
        here, below = config.filters(level), config.filters(level + 1)
        self.connections = config.connections
        self.upsample = Block(below, here, config, kernel=1, double=config.upsampling)
        if self.connections is Connection.concat:
            self.connection = Block(2 * here, here, config, kernel=1)
        self.blocks = series(here, config.blocks_per_layer, config)

    def forward(self, planes: Planes, skipped: Planes) -> Planes:
        """Double images [N, C, h, w] of each plane; `skipped` is what came into this level on the way down."""
        planes = self.upsample(planes)
        if self.connections is Connection.concat:
            pairs = zip(planes, skipped, strict=True)
            planes = self.connection(tuple(torch.cat(pair, dim=1) for pair in pairs))
        elif self.connections is Connection.sum:
            planes = tuple(x + past for x, past in zip(planes, skipped, strict=True))
        return self.blocks(planes)


class Deepest(nn.Module):
    """The lowest resolution, where planes meet (unless the configuration keeps them apart)."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.mixed = not config.block_concat
        channels = config.filters(config.depth) * (PLANES if self.mixed else 1)
        width = config.bottleneck_deepest
        self.bottleneck = Block(channels, width, config, kernel=1, mixed=self.mixed)
        self.blocks = series(
            width, config.blocks_deepest_layer, config, kernel=config.filter_size_deepest, mixed=self.mixed
        )
        self.unbottleneck = Block(width, channels, config, kernel=1, mixed=self.mixed)

    def forward(self, planes: Planes) -> Planes:
        """Apply it to images [N, C, h, w] of each plane."""
        if not self.mixed:
            return self._through(planes)
        if len(planes) == PLANES:
            (x,) = self._through((torch.cat(planes, dim=1),))
            return x.chunk(PLANES, dim=1)
        images, channels, height, width = planes[0].shape
        wide = planes[0].reshape(images // PLANES, PLANES * channels, height, width)
        (x,) = self._through((wide,))
        return (x.reshape(images, channels, height, width),)

    def _through(self, planes: Planes) -> Planes:
        return self.unbottleneck(self.blocks(self.bottleneck(planes)))
