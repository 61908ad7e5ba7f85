"""GPT-2 and the small GPT of nanoGPT: causal decoders with the words' table as the last layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .transformer import EncoderLayer

#: hidden, layers, heads, vocabulary
SIZES = {
    "nano": (384, 6, 6, 65),
    "small": (768, 12, 12, 50_257),
    "medium": (1024, 24, 16, 50_257),
    "large": (1280, 36, 20, 50_257),
    "xl": (1600, 48, 25, 50_257),
    "7b": (4096, 32, 32, 32_000),
}


class Gpt(nn.Module):
    """A causal decoder of a named size over `sequence` tokens. `nano` has 10.67 M parameters."""

    def __init__(
        self, size: str = "small", sequence: int = 1024, dropout: float = 0.1, vocabulary: int | None = None
    ) -> None:
        super().__init__()
        hidden, depth, heads, words = SIZES[size]
        self.sequence = sequence
        self.words = nn.Embedding(vocabulary or words, hidden)
        self.positions = nn.Embedding(sequence, hidden)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                hidden, heads, 4 * hidden, dropout=dropout, attention_dropout=dropout, norm_first=True,
                causal=True, activation="gelu_tanh",
            )
            for _ in range(depth)
        )  # fmt: skip
        self.norm = nn.LayerNorm(hidden)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"tokens": torch.empty(batch, self.sequence, dtype=torch.int32)}
        if training:
            given["labels"] = torch.empty(batch, self.sequence, dtype=torch.int32)
        return given

    def forward(self, tokens: Tensor, labels: Tensor | None = None):
        x = self.dropout(self.words(tokens) + self.positions.weight[: tokens.shape[1]])
        for layer in self.layers:
            x = layer(x)
        x = functional.linear(self.norm(x), self.words.weight)
        if labels is None:
            return x
        loss = functional.cross_entropy(x.flatten(0, 1), labels.flatten())
        return loss, loss
