"""DenseNet (Huang et al., 2016): each layer adds its channels to all before it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .images import image_batch

#: layers of each block
DEPTHS = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}
_GROWTH = 32


class DenseLayer(nn.Module):
    """Norm, 1x1, norm, 3x3; the result is put beside the input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * _GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * _GROWTH)
        self.conv2 = nn.Conv2d(4 * _GROWTH, _GROWTH, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(functional.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(functional.relu(self.norm2(y)))], 1)


class Transition(nn.Module):
    """Half the channels, half the extent."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.reduce = nn.Conv2d(channels, channels // 2, 1, bias=False)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(self.reduce(functional.relu(self.norm(x))))


class DenseNet(nn.Module):
    """An image classifier of 121, 169 or 201 layers; 121 has 7.98 M parameters."""

    def __init__(self, depth: int = 121, image: int = 224, classes: int = 1000) -> None:
        super().__init__()
        self.image = image
        self.stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.stem_norm = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        parts: list[nn.Module] = []
        for number, layers in enumerate(DEPTHS[depth]):
            if number:
                parts.append(Transition(channels))
                channels //= 2
            for _ in range(layers):
                parts.append(DenseLayer(channels))
                channels += _GROWTH
        self.layers = nn.Sequential(*parts)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        return image_batch(batch, self.image, self.head.weight.dtype, eight_bit=False, training=training)

    def forward(self, images: Tensor, labels: Tensor | None = None):
        x = self.layers(self.pool(functional.relu(self.stem_norm(self.stem(images)))))
        x = self.head(functional.relu(self.norm(x)).mean((2, 3)))
        return x if labels is None else (x, functional.cross_entropy(x, labels))
