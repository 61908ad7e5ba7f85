"""EfficientNet (Tan and Le, 2019), and the variant with grouped instead of depthwise convolutions.

The variant G16 (Masters et al., 2021, arXiv 2106.03640) has groups of 16 channels, an expansion of 4
instead of 6, and group norms.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from .images import image_batch, normalised
from .norms import norm_of

#: width and depth factors, image size
VARIANTS = {
    "b0": (1.0, 1.0, 224),
    "b1": (1.0, 1.1, 240),
    "b2": (1.1, 1.2, 260),
    "b3": (1.2, 1.4, 300),
    "b4": (1.4, 1.8, 380),
}
#: expansion, channels, repeats, stride, kernel
STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


def rounded(channels: float, divisor: int = 8) -> int:
    whole = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return whole + divisor if whole < 0.9 * channels else whole


class SqueezeExcite(nn.Module):
    """Channels weighted by a small network of their means."""

    def __init__(self, channels: int, reduced: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, reduced, 1)
        self.expand = nn.Conv2d(reduced, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.expand(functional.silu(self.reduce(means))))


class MobileBlock(nn.Module):
    """1x1 expansion, grouped convolution, squeeze and excite, 1x1 projection."""

    def __init__(
        self, channels: int, out: int, expansion: int, stride: int, kernel: int, group_size: int, norm: str
    ) -> None:
        super().__init__()
        inner = channels * expansion
        self.residual = stride == 1 and channels == out
        self.expand: nn.Module | None = None
        if expansion != 1:
            self.expand = nn.Conv2d(channels, inner, 1, bias=False)
            self.expand_norm = norm_of(norm, inner, 4)
        self.spatial = nn.Conv2d(
            inner, inner, kernel, stride, kernel // 2, groups=max(1, inner // group_size), bias=False
        )
        self.spatial_norm = norm_of(norm, inner, 4)
        self.excite = SqueezeExcite(inner, max(1, channels // 4))
        self.project = nn.Conv2d(inner, out, 1, bias=False)
        self.project_norm = norm_of(norm, out, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.expand is None else functional.silu(self.expand_norm(self.expand(x)))
        y = self.excite(functional.silu(self.spatial_norm(self.spatial(y))))
        y = self.project_norm(self.project(y))
        return x + y if self.residual else y


class EfficientNet(nn.Module):
    """An image classifier; `blocks.3` is the first block of the stage that the papers call 4.

    Args:
        variant: b0 to b4.
        group_size: channels of a group of the spatial convolutions; 1 is depthwise.
        expansion: of the blocks that expand; 6, or 4 in G16.
        norm: batch or group (4 groups).
        eight_bit_input: images come as bytes and are scaled on the device.
    """

    def __init__(
        self,
        variant: str = "b0",
        group_size: int = 1,
        expansion: int = 6,
        norm: str = "batch",
        classes: int = 1000,
        image: int | None = None,
        eight_bit_input: bool = False,
    ) -> None:
        super().__init__()
        width, depth, size = VARIANTS[variant]
        self.image, self.eight_bit_input = image or size, eight_bit_input
        channels = rounded(32 * width)
        self.stem = nn.Conv2d(3, channels, 3, 2, 1, bias=False)
        self.stem_norm = norm_of(norm, channels, 4)
        stages = []
        for factor, out, repeats, stride, kernel in STAGES:
            blocks = []
            for number in range(math.ceil(repeats * depth)):
                blocks.append(
                    MobileBlock(
                        channels,
                        rounded(out * width),
                        1 if factor == 1 else expansion,
                        stride if number == 0 else 1,
                        kernel,
                        group_size,
                        norm,
                    )
                )
                channels = rounded(out * width)
            stages.append(nn.Sequential(*blocks))
        self.blocks = nn.Sequential(*stages)
        last = rounded(1280 * width)
        self.top = nn.Conv2d(channels, last, 1, bias=False)
        self.top_norm = norm_of(norm, last, 4)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(last, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype, eight_bit = self.head.weight.dtype, self.eight_bit_input
        return image_batch(batch, self.image, dtype, eight_bit=eight_bit, training=training)

    def forward(self, images: Tensor, labels: Tensor | None = None):
        if self.eight_bit_input:
            images = normalised(images, self.head.weight.dtype)
        x = functional.silu(self.stem_norm(self.stem(images)))
        x = self.blocks(x)
        x = functional.silu(self.top_norm(self.top(x)))
        x = self.head(self.dropout(x.mean((2, 3))))
        return x if labels is None else (x, functional.cross_entropy(x, labels))
