"""HuBERT and wav2vec 2.0 (Hsu et al., 2021; Baevski et al., 2020): convolutions over samples, then BERT's encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .transformer import EncoderLayer

#: kernel and stride of the convolutions over samples
CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))


class Hubert(nn.Module):
    """A classifier of sounds of `samples` values, base size; `layers.N` are the encoder's layers."""

    def __init__(self, samples: int = 16_000, classes: int = 12, dropout: float = 0.1) -> None:
        super().__init__()
        self.samples = samples
        self.convolutions = nn.ModuleList(
            nn.Conv1d(1 if number == 0 else 512, 512, kernel, stride, bias=False)
            for number, (kernel, stride) in enumerate(CONVOLUTIONS)
        )
        self.first_norm = nn.GroupNorm(512, 512)
        self.feature_norm = nn.LayerNorm(512)
        self.project = nn.Linear(512, 768)
        self.positions = nn.Conv1d(768, 768, 128, padding=64, groups=16)
        self.norm = nn.LayerNorm(768)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(768, 12, 3072, dropout=dropout, attention_dropout=dropout) for _ in range(12)
        )
        self.projector = nn.Linear(768, 256)
        self.head = nn.Linear(256, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"sounds": torch.empty(batch, self.samples, dtype=self.head.weight.dtype)}
        if training:
            given["labels"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(self, sounds: Tensor, labels: Tensor | None = None):
        x = sounds.unsqueeze(1)
        for number, convolution in enumerate(self.convolutions):
            x = convolution(x)
            x = functional.gelu(self.first_norm(x) if number == 0 else x)
        x = self.dropout(self.project(self.feature_norm(x.transpose(1, 2))))
        # an even kernel gives one position too many
        places = functional.gelu(self.positions(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        x = self.dropout(self.norm(x + places))
        for layer in self.layers:
            x = layer(x)
        x = self.head(self.projector(x).mean(1))
        return x if labels is None else (x, functional.cross_entropy(x, labels))
