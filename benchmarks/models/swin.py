"""The Swin transformer (Liu et al., 2021): attention in windows, shifted in every second block."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

#: hidden, blocks of each stage, heads of each stage
SIZES = {
    "tiny": (96, (2, 2, 6, 2), (3, 6, 12, 24)),
    "base": (128, (2, 2, 18, 2), (4, 8, 16, 32)),
    "large": (192, (2, 2, 18, 2), (6, 12, 24, 48)),
}


class WindowAttention(nn.Module):
    """Attention among the pixels of a window with a bias for their distance."""

    def __init__(self, hidden: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.distances = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        self.register_buffer("index", torch.zeros(window**4, dtype=torch.int32))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        count, length, hidden = x.shape
        width = hidden // self.heads
        parts = self.query_key_value(x).view(count, length, 3, self.heads, width)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        bias = self.distances[self.index.long()].view(length, length, self.heads).permute(2, 0, 1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width) + bias
        if mask is not None:
            windows = mask.shape[0]
            scores = scores.view(count // windows, windows, self.heads, length, length) + mask.unsqueeze(1)
            scores = scores.view(count, self.heads, length, length)
        context = torch.softmax(scores, -1) @ value
        return self.output(context.transpose(1, 2).reshape(count, length, hidden))


class SwinBlock(nn.Module):
    """Window attention and feed-forward with residuals, norms first."""

    def __init__(self, hidden: int, heads: int, window: int, side: int, shift: int) -> None:
        super().__init__()
        self.window, self.side, self.shift = window, side, 0 if side <= window else shift
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attention = WindowAttention(hidden, heads, min(window, side))
        self.inner, self.outer = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        windows = (side // min(window, side)) ** 2
        if self.shift:
            self.register_buffer("mask", torch.zeros(windows, min(window, side) ** 2, min(window, side) ** 2))
        else:
            self.mask = None

    def forward(self, x: Tensor) -> Tensor:
        batch, _, hidden = x.shape
        side, window = self.side, min(self.window, self.side)
        y = self.norm1(x).view(batch, side, side, hidden)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        cut = side // window
        y = y.view(batch, cut, window, cut, window, hidden).permute(0, 1, 3, 2, 4, 5)
        y = self.attention(y.reshape(-1, window * window, hidden), self.mask)
        y = y.view(batch, cut, cut, window, window, hidden).permute(0, 1, 3, 2, 4, 5)
        y = y.reshape(batch, side, side, hidden)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y.reshape(batch, side * side, hidden)
        return x + self.outer(functional.gelu(self.inner(self.norm2(x))))


class Merging(nn.Module):
    """Four neighbouring pixels become one of twice the width."""

    def __init__(self, hidden: int, side: int) -> None:
        super().__init__()
        self.side = side
        self.norm = nn.LayerNorm(4 * hidden)
        self.reduce = nn.Linear(4 * hidden, 2 * hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, _, hidden = x.shape
        x = x.view(batch, self.side // 2, 2, self.side // 2, 2, hidden).permute(0, 1, 3, 4, 2, 5)
        return self.reduce(self.norm(x.reshape(batch, -1, 4 * hidden)))


class Swin(nn.Module):
    """An image classifier of a named size; `layers.N` counts blocks, with the mergings between stages."""

    def __init__(self, size: str = "tiny", image: int = 224, window: int = 7, classes: int = 1000) -> None:
        super().__init__()
        hidden, depths, heads = SIZES[size]
        self.image = image
        self.patches = nn.Conv2d(3, hidden, 4, 4)
        self.patch_norm = nn.LayerNorm(hidden)
        side = image // 4
        layers: list[nn.Module] = []
        for stage, (blocks, count) in enumerate(zip(depths, heads, strict=True)):
            shifts = (window // 2 if number % 2 else 0 for number in range(blocks))
            layers += [SwinBlock(hidden, count, window, side, shift) for shift in shifts]
            if stage + 1 < len(depths):
                layers.append(Merging(hidden, side))
                hidden, side = 2 * hidden, side // 2
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"images": torch.empty(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)}
        if training:
            given["labels"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(self, images: Tensor, labels: Tensor | None = None):
        x = self.patch_norm(self.patches(images).flatten(2).transpose(1, 2))
        for layer in self.layers:
            x = layer(x)
        x = self.head(self.norm(x).mean(1))
        return x if labels is None else (x, functional.cross_entropy(x, labels))
