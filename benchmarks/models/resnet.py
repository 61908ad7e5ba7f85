"""ResNet (He et al., 2015) in the form called v1.5: the stride is in the 3x3 convolution."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from .images import image_batch, normalised
from .norms import norm_of

DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class Basic(nn.Module):
    """Two 3x3 with a residual."""

    expansion = 1

    def __init__(
        self, channels: int, width: int, stride: int, norm: str, groups: int, paths: tuple[int, int] = (1, 64)
    ) -> None:
        super().__init__()
        if paths != (1, 64):
            raise ValueError("only networks with bottlenecks (depth 50 and more) have other paths")
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = norm_of(norm, width, groups)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = norm_of(norm, width, groups)
        self.shortcut: nn.Module | None = None
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False), norm_of(norm, width, groups)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        return functional.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 with a residual."""

    expansion = 4

    def __init__(
        self, channels: int, width: int, stride: int, norm: str, groups: int, paths: tuple[int, int] = (1, 64)
    ) -> None:
        super().__init__()
        out = 4 * width
        cardinality, path_width = paths
        inner = width * path_width // 64 * cardinality
        self.conv1 = nn.Conv2d(channels, inner, 1, bias=False)
        self.norm1 = norm_of(norm, inner, groups)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=cardinality, bias=False)
        self.norm2 = norm_of(norm, inner, groups)
        self.conv3 = nn.Conv2d(inner, out, 1, bias=False)
        self.norm3 = norm_of(norm, out, groups)
        self.shortcut: nn.Module | None = None
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), norm_of(norm, out, groups)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        y = functional.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return functional.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Module):
    """An image classifier.

    Args:
        depth: 18, 34, 50, 101 or 152.
        norm: batch, group or none (folded into the convolutions, for inference).
        groups: of group norms.
        eight_bit_input: images come as bytes and are scaled on the device.
        cardinality, path_width: paths beside each other and their channels in the first stage. 32 of 4 make it
            ResNeXt (Xie et al., 2016), 1 of 128 the wide one (Zagoruyko and Komodakis, 2016).
    """

    def __init__(
        self,
        depth: int = 50,
        image: int = 224,
        classes: int = 1000,
        norm: str = "batch",
        groups: int = 32,
        eight_bit_input: bool = False,
        cardinality: int = 1,
        path_width: int = 64,
    ) -> None:
        super().__init__()
        self.image, self.eight_bit_input = image, eight_bit_input
        self.stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.stem_norm = norm_of(norm, 64, groups)
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels, block = 64, Basic if depth < 50 else Bottleneck
        for number, (blocks, width) in enumerate(zip(DEPTHS[depth], (64, 128, 256, 512), strict=True), 1):
            units = []
            for unit in range(blocks):
                stride = 2 if unit == 0 and number > 1 else 1
                units.append(block(channels, width, stride, norm, groups, (cardinality, path_width)))
                channels = block.expansion * width
            setattr(self, f"stage{number}", nn.Sequential(*units))
        self.head = nn.Linear(channels, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype, eight_bit = self.head.weight.dtype, self.eight_bit_input
        return image_batch(batch, self.image, dtype, eight_bit=eight_bit, training=training)

    def forward(self, images: Tensor, labels: Tensor | None = None):
        if self.eight_bit_input:
            images = normalised(images, self.head.weight.dtype)
        x = self.pool(functional.relu(self.stem_norm(self.stem(images))))
        for stage in (self.stage1, self.stage2, self.stage3, self.stage4):
            x = stage(x)
        x = self.head(x.mean((2, 3)))
        return x if labels is None else (x, functional.cross_entropy(x, labels))
