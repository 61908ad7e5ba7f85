"""BART (Lewis et al., 2019) and T5 (Raffel et al., 2019): an encoder and a decoder that attends to it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

#: hidden, inner, heads, layers of the encoder and of the decoder, vocabulary
SIZES = {
    "bart-base": (768, 3072, 12, 6, 50_265),
    "t5-small": (512, 2048, 8, 6, 32_128),
    "t5-base": (768, 3072, 12, 12, 32_128),
}


class MeanSquareNorm(nn.Module):
    """T5's norm: no mean is taken off, no bias is added."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class CrossAttention(nn.Module):
    """Attention of `x` to `memory`, or to itself; T5 has no biases and does not scale its scores."""

    def __init__(self, hidden: int, heads: int, bias: bool, scaled: bool) -> None:
        super().__init__()
        self.heads, self.scaled = heads, scaled
        self.query, self.key, self.value, self.output = (
            nn.Linear(hidden, hidden, bias=bias) for _ in range(4)
        )

    def forward(self, x: Tensor, memory: Tensor, added: Tensor | None = None) -> Tensor:
        batch, length, hidden = x.shape
        query, key, value = (
            part.view(batch, -1, self.heads, hidden // self.heads).transpose(1, 2)
            for part in (self.query(x), self.key(memory), self.value(memory))
        )
        scores = query @ key.transpose(-1, -2)
        if self.scaled:
            scores = scores * (hidden // self.heads) ** -0.5
        if added is not None:
            scores = scores + added
        context = torch.softmax(scores, -1) @ value
        return self.output(context.transpose(1, 2).reshape(batch, length, hidden))


class Block(nn.Module):
    """Self-attention, attention to the encoder (in the decoder), feed-forward; norms as the family has them."""

    def __init__(self, hidden: int, inner: int, heads: int, dropout: float, t5: bool, decoder: bool) -> None:
        super().__init__()
        norm = MeanSquareNorm if t5 else nn.LayerNorm
        self.t5 = t5
        self.own = CrossAttention(hidden, heads, not t5, not t5)
        self.own_norm = norm(hidden)
        self.source = CrossAttention(hidden, heads, not t5, not t5) if decoder else None
        self.source_norm = norm(hidden) if decoder else None
        self.inner, self.outer = nn.Linear(hidden, inner, bias=not t5), nn.Linear(inner, hidden, bias=not t5)
        self.inner_norm = norm(hidden)
        self.dropout = nn.Dropout(dropout)

    def _feed_forward(self, x: Tensor) -> Tensor:
        x = self.inner(x)
        return self.outer(functional.relu(x) if self.t5 else functional.gelu(x))

    def forward(self, x: Tensor, added: Tensor | None, memory: Tensor | None = None) -> Tensor:
        if self.t5:
            y = self.own_norm(x)
            x = x + self.dropout(self.own(y, y, added))
            if self.source is not None and memory is not None:
                x = x + self.dropout(self.source(self.source_norm(x), memory))
            return x + self.dropout(self._feed_forward(self.inner_norm(x)))
        x = self.own_norm(x + self.dropout(self.own(x, x, added)))
        if self.source is not None and memory is not None:
            x = self.source_norm(x + self.dropout(self.source(x, memory)))
        return self.inner_norm(x + self.dropout(self._feed_forward(x)))


class Head(nn.Module):
    """The words' table as the last layer."""

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        return functional.linear(x, words)


class Seq2Seq(nn.Module):
    """Text to text; `encoder.N`, `decoder.N` and `head` are what a pipeline may be cut at.

    Args:
        size: bart-base, t5-small or t5-base.
        source: tokens that are read.
        target: tokens that are written; none for the encoder alone, whose mean over tokens is the result.
        dropout: of the hidden states.
    """

    def __init__(
        self, size: str = "bart-base", source: int = 128, target: int = 128, dropout: float = 0.1
    ) -> None:
        super().__init__()
        hidden, inner, heads, depth, vocabulary = SIZES[size]
        self.source, self.target, t5 = source, target, size.startswith("t5")
        self.words = nn.Embedding(vocabulary, hidden)
        self.positions = None if t5 else nn.Embedding(max(source, target), hidden)
        self.distances = nn.Parameter(torch.zeros(heads, source, source)) if t5 else None
        self.target_distances = nn.Parameter(torch.zeros(heads, target, target)) if t5 and target else None
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(
            Block(hidden, inner, heads, dropout, t5, decoder=False) for _ in range(depth)
        )
        self.decoder = nn.ModuleList(
            Block(hidden, inner, heads, dropout, t5, decoder=True) for _ in range(depth if target else 0)
        )
        self.head = Head()

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {"tokens": torch.empty(batch, self.source, dtype=torch.int32)}
        if self.target:
            given["written"] = torch.empty(batch, self.target, dtype=torch.int32)
            if training:
                given["labels"] = torch.empty(batch, self.target, dtype=torch.int32)
        return given

    def _embedded(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        return self.dropout(x)

    def forward(self, tokens: Tensor, written: Tensor | None = None, labels: Tensor | None = None):
        x = self._embedded(tokens)
        y = None if written is None else self._embedded(written)
        for block in self.encoder:
            x = block(x, self.distances)
        if y is None:
            return x.mean(1)
        ones = torch.ones(self.target, self.target, dtype=torch.bool, device=y.device)
        later = torch.zeros(self.target, self.target, dtype=y.dtype, device=y.device)
        added = later.masked_fill(~torch.tril(ones), -10000.0)
        if self.target_distances is not None:
            added = added + self.target_distances
        for block in self.decoder:
            y = block(y, added, x)
        y = self.head(y, self.words.weight)
        if labels is None:
            return y
        loss = functional.cross_entropy(y.flatten(0, 1), labels.flatten())
        return loss, loss
