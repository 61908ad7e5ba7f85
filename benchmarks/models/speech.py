"""wav2vec 2.0 (Baevski et al., 2020) and HuBERT (Hsu et al., 2021): convolutions over sound, then an encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .transformer import EncoderLayer

#: hidden, layers, heads
SIZES = {"base": (768, 12, 12), "large": (1024, 24, 16)}
#: kernel and stride of each convolution
CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
_CHANNELS = 512


class Wave(nn.Module):
    """One convolution over the samples; the first has a norm over each channel."""

    def __init__(self, before: int, kernel: int, stride: int, norm: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(before, _CHANNELS, kernel, stride, bias=False)
        self.norm = nn.GroupNorm(_CHANNELS, _CHANNELS) if norm else None

    def forward(self, x: Tensor) -> Tensor:
        x = self.convolution(x)
        return functional.gelu(x if self.norm is None else self.norm(x))


class SpeechEncoder(nn.Module):
    """Letters (or classes) from sound.

    Args:
        size: base (94.4 M parameters) or large (315.5 M).
        samples: of sound in one sample of the batch.
        outputs: letters, or classes with `pooled`.
        pooled: one answer for the whole sound instead of one per frame (classification).
        frozen: the convolutions over sound are not trained.

    The loss of the frames is a cross entropy: that of CTC takes little memory beside the encoder.
    """

    def __init__(
        self,
        size: str = "base",
        samples: int = 160_000,
        outputs: int = 32,
        pooled: bool = False,
        dropout: float = 0.1,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        hidden, depth, heads = SIZES[size]
        self.samples, self.pooled = samples, pooled
        self.waves = nn.ModuleList(
            Wave(1 if number == 0 else _CHANNELS, kernel, stride, number == 0)
            for number, (kernel, stride) in enumerate(CONVOLUTIONS)
        )
        self.waves.requires_grad_(not frozen)
        self.wave_norm = nn.LayerNorm(_CHANNELS)
        self.project = nn.Linear(_CHANNELS, hidden)
        self.positions = nn.Conv1d(hidden, hidden, 128, padding=64, groups=16)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(hidden, heads, 4 * hidden, dropout=dropout, attention_dropout=dropout)
            for _ in range(depth)
        )
        self.head = nn.Linear(hidden, outputs)

    def frames(self) -> int:
        """Frames that the convolutions leave of the samples."""
        length = self.samples
        for kernel, stride in CONVOLUTIONS:
            length = (length - kernel) // stride + 1
        return length

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"sound": torch.empty(batch, self.samples, dtype=self.head.weight.dtype)}
        if training:
            shape = (batch,) if self.pooled else (batch, self.frames())
            given["labels"] = torch.empty(shape, dtype=torch.int32)
        return given

    def forward(self, sound: Tensor, labels: Tensor | None = None):
        x = sound.unsqueeze(1)
        for wave in self.waves:
            x = wave(x)
        x = self.project(self.wave_norm(x.transpose(1, 2)))
        places = functional.gelu(self.positions(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        x = self.dropout(self.norm(x + places))
        for layer in self.layers:
            x = layer(x)
        if self.pooled:
            x = x.mean(1)
        x = self.head(x)
        if labels is None:
            return x
        return x, functional.cross_entropy(x.flatten(0, -2), labels.flatten())
