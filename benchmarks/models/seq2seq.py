"""Encoders with decoders: T5 (Raffel et al., 2019), mT5 (Xue et al., 2020) and BART (Lewis et al., 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """What the sizes differ in. `bias` marks the BART kind: biases, learned positions, norms after each block."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    #: of one head, where it is not hidden / heads
    width: int = 64
    gated: bool = False
    tied: bool = True
    bias: bool = False


#: parameters: 60.5 M, 222.9 M, 300.2 M, 139.4 M
SIZES = {
    "t5-small": Shape(512, 6, 8, 2048, 32_128),
    "t5-base": Shape(768, 12, 12, 3072, 32_128),
    "mt5-small": Shape(512, 8, 6, 1024, 250_112, gated=True, tied=False),
    "bart-base": Shape(768, 6, 12, 3072, 50_265, bias=True),
}
_BUCKETS = 32


class RootNorm(nn.Module):
    """A norm by the root of the mean square."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    """Attention of tokens to themselves or to those of the encoder."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        inner = shape.heads * shape.width
        self.heads, self.width, self.scaled = shape.heads, shape.width, shape.bias
        self.query, self.key, self.value = (nn.Linear(shape.hidden, inner, shape.bias) for _ in range(3))
        self.output = nn.Linear(inner, shape.hidden, shape.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, bias: Tensor | None) -> Tensor:
        batch = x.shape[0]
        query, key, value = (
            part.view(batch, -1, self.heads, self.width).transpose(1, 2)
            for part in (self.query(x), self.key(memory), self.value(memory))
        )
        scores = query @ key.transpose(-1, -2)
        if self.scaled:
            scores = scores / math.sqrt(self.width)
        if bias is not None:
            scores = scores + bias
        context = self.dropout(torch.softmax(scores, -1)) @ value
        return self.output(context.transpose(1, 2).reshape(batch, -1, self.heads * self.width))


class FeedForward(nn.Module):
    """ReLU (T5), gated GELU (mT5) or GELU (BART) between two linear layers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate = nn.Linear(shape.hidden, shape.inner, shape.bias) if shape.gated else None
        self.inner = nn.Linear(shape.hidden, shape.inner, shape.bias)
        self.outer = nn.Linear(shape.inner, shape.hidden, shape.bias)
        self.gelu = shape.bias

    def forward(self, x: Tensor) -> Tensor:
        if self.gate is not None:
            return self.outer(functional.gelu(self.gate(x), approximate="tanh") * self.inner(x))
        x = self.inner(x)
        return self.outer(functional.gelu(x) if self.gelu else functional.relu(x))


class Block(nn.Module):
    """Attention to itself, to the encoder (decoder only), and feed-forward, each with a residual and a norm."""

    def __init__(self, shape: Shape, dropout: float, attention_dropout: float, decoder: bool) -> None:
        super().__init__()
        self.norm_first = not shape.bias
        self.attention = Attention(shape, attention_dropout)
        self.cross = Attention(shape, attention_dropout) if decoder else None
        self.feed_forward = FeedForward(shape)
        norm = nn.LayerNorm if shape.bias else RootNorm
        self.norms = nn.ModuleList(norm(shape.hidden) for _ in range(3 if decoder else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor | None, memory: Tensor | None, mask: Tensor) -> Tensor:
        x = self._around(0, x, lambda y: self.attention(y, y, bias))
        if self.cross is not None:
            cross = self.cross
            x = self._around(1, x, lambda y: cross(y, memory, mask))
        return self._around(-1, x, self.feed_forward)

    def _around(self, number: int, x: Tensor, part) -> Tensor:
        norm = self.norms[number]
        if self.norm_first:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))


class Positions(nn.Module):
    """T5's bias of the scores by distance, from a table of buckets."""

    def __init__(self, heads: int, length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(_BUCKETS, heads)
        self.register_buffer("buckets", torch.zeros(length, length, dtype=torch.int32))

    def forward(self) -> Tensor:
        return self.table(self.buckets).permute(2, 0, 1).unsqueeze(0)


class Seq2Seq(nn.Module):
    """A model of a named size: `sequence` tokens in, `targets` tokens out; `encoder.N` and `decoder.N` are layers.

    The bias by distance is computed in each layer, as programs for IPUs do that do not pass it between them.
    """

    def __init__(
        self,
        size: str = "t5-small",
        sequence: int = 512,
        targets: int = 128,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        tied: bool | None = None,
    ) -> None:
        super().__init__()
        shape = SIZES[size]
        self.sequence, self.targets = sequence, targets
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.dropout = nn.Dropout(dropout)
        self.learned = shape.bias
        if shape.bias:
            self.places = nn.ModuleList(nn.Embedding(1026, shape.hidden) for _ in range(2))
            self.place_norms = nn.ModuleList(nn.LayerNorm(shape.hidden) for _ in range(2))
        else:
            lengths = (sequence, targets)
            self.biases = nn.ModuleList(Positions(shape.heads, length) for length in lengths)
            self.last_norms = nn.ModuleList(RootNorm(shape.hidden) for _ in range(2))
        self.encoder, self.decoder = (
            nn.ModuleList(Block(shape, dropout, attention_dropout, decoder) for _ in range(shape.layers))
            for decoder in (False, True)
        )
        untied = not (shape.tied if tied is None else tied)
        self.head = nn.Linear(shape.hidden, shape.vocabulary, bias=False) if untied else None

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        given = {
            "tokens": torch.empty(batch, self.sequence, dtype=torch.int32),
            "mask": torch.empty(batch, 1, 1, self.sequence, dtype=self.words.weight.dtype),
            "decoder_tokens": torch.empty(batch, self.targets, dtype=torch.int32),
        }
        if training:
            given["labels"] = torch.empty(batch, self.targets, dtype=torch.int32)
        return given

    def _embedded(self, tokens: Tensor, side: int) -> Tensor:
        x = self.words(tokens)
        if self.learned:
            x = self.place_norms[side](x + self.places[side].weight[2 : 2 + tokens.shape[1]])
        return self.dropout(x)

    def forward(self, tokens: Tensor, mask: Tensor, decoder_tokens: Tensor, labels: Tensor | None = None):
        causal = torch.ones(self.targets, self.targets, dtype=torch.bool, device=tokens.device).tril()
        # both look-ups come first, as the table of words is where the first stage is
        x, decoded = self._embedded(tokens, 0), self._embedded(decoder_tokens, 1)
        for layer in self.encoder:
            x = layer(x, mask if self.learned else self.biases[0]() + mask, None, mask)
        memory = x if self.learned else self.last_norms[0](x)
        x = decoded
        future = torch.zeros_like(causal, dtype=x.dtype).masked_fill(~causal, -10000.0)
        for layer in self.decoder:
            x = layer(x, future if self.learned else self.biases[1]() + future, memory, mask)
        x = x if self.learned else self.last_norms[1](x)
        x = functional.linear(x, self.words.weight) if self.head is None else self.head(x)
        if labels is None:
            return x
        loss = functional.cross_entropy(x.flatten(0, 1), labels.flatten())
        return loss, loss
