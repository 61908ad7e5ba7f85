"""ResNeXt (Xie et al., 2017): residual blocks whose 3x3 convolutions are in groups."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from .images import image_batch, normalised
from .norms import norm_of

#: units of each stage
DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


class Unit(nn.Module):
    """1x1, grouped 3x3, 1x1 with a residual."""

    def __init__(self, channels: int, width: int, out: int, stride: int, cardinality: int, norm: str) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.norm1 = norm_of(norm, width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=cardinality, bias=False)
        self.norm2 = norm_of(norm, width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.norm3 = norm_of(norm, out)
        self.shortcut: nn.Module | None = None
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), norm_of(norm, out))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        y = functional.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return functional.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNeXt(nn.Module):
    """An image classifier; `stageN.M` is unit M of stage N.

    Args:
        depth: 50 or 101.
        cardinality: groups of the 3x3 convolutions.
        group_width: channels of a group in the first stage.
        norm: batch, group or none (folded into the convolutions, for inference).
        eight_bit_input: images come as bytes and are scaled on the device.
    """

    def __init__(
        self,
        depth: int = 101,
        cardinality: int = 32,
        group_width: int = 4,
        image: int = 224,
        classes: int = 1000,
        norm: str = "batch",
        eight_bit_input: bool = False,
    ) -> None:
        super().__init__()
        self.image, self.eight_bit_input = image, eight_bit_input
        self.stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.stem_norm = norm_of(norm, 64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        for number, count in enumerate(DEPTHS[depth], 1):
            width, out = cardinality * group_width * 2 ** (number - 1), 128 * 2**number
            units = []
            for unit in range(count):
                stride = 2 if unit == 0 and number > 1 else 1
                units.append(Unit(channels, width, out, stride, cardinality, norm))
                channels = out
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
