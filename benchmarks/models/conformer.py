"""The Conformer (Gulati et al., 2020) with an attention decoder and a CTC branch, as WeNet trains it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class RelativeAttention(nn.Module):
    """Self-attention with a bias of position in the queries, and a product with the positions."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.position = nn.Linear(hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, hidden)
        self.content_bias = nn.Parameter(torch.zeros(heads, self.width))
        self.position_bias = nn.Parameter(torch.zeros(heads, self.width))

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        batch, length, hidden = x.shape
        query = self.query(x).view(batch, length, self.heads, self.width)
        key = self.key(x).view(batch, length, self.heads, self.width).transpose(1, 2)
        value = self.value(x).view(batch, length, self.heads, self.width).transpose(1, 2)
        places = self.position(positions).view(1, length, self.heads, self.width).transpose(1, 2)
        content = (query + self.content_bias).transpose(1, 2) @ key.transpose(-1, -2)
        where = (query + self.position_bias).transpose(1, 2) @ places.transpose(-1, -2)
        scores = torch.softmax((content + where) / math.sqrt(self.width) + mask, -1)
        return self.output((scores @ value).transpose(1, 2).reshape(batch, length, hidden))


class CrossAttention(nn.Module):
    """Attention of the decoder's tokens to themselves or to the encoder's frames."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.output = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, _, hidden = x.shape
        width = hidden // self.heads
        query, key, value = (
            part.view(batch, -1, self.heads, width).transpose(1, 2)
            for part in (self.query(x), self.key(memory), self.value(memory))
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(width)
        if mask is not None:
            scores = scores + mask
        context = torch.softmax(scores, -1) @ value
        return self.output(context.transpose(1, 2).reshape(batch, -1, hidden))


class Convolutions(nn.Module):
    """Gated pointwise, depthwise over time, norm, pointwise."""

    def __init__(self, hidden: int, kernel: int) -> None:
        super().__init__()
        self.expand = nn.Conv1d(hidden, 2 * hidden, 1)
        self.depthwise = nn.Conv1d(hidden, hidden, kernel, padding=kernel // 2, groups=hidden)
        self.norm = nn.LayerNorm(hidden)
        self.project = nn.Conv1d(hidden, hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.glu(self.expand(x.transpose(1, 2)), 1)
        y = self.norm(self.depthwise(y).transpose(1, 2))
        return self.project(functional.silu(y).transpose(1, 2)).transpose(1, 2)


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, convolutions, half a feed-forward, norm."""

    def __init__(self, hidden: int, heads: int, inner: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.first, self.last = (
            nn.Sequential(
                nn.LayerNorm(hidden),
                nn.Linear(hidden, inner),
                nn.SiLU(),
                nn.Dropout(dropout),
                nn.Linear(inner, hidden),
            )
            for _ in range(2)
        )
        self.attention_norm = nn.LayerNorm(hidden)
        self.attention = RelativeAttention(hidden, heads)
        self.convolution_norm = nn.LayerNorm(hidden)
        self.convolution = Convolutions(hidden, kernel)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        x = x + 0.5 * self.dropout(self.first(x))
        x = x + self.dropout(self.attention(self.attention_norm(x), positions, mask))
        x = x + self.dropout(self.convolution(self.convolution_norm(x)))
        return self.norm(x + 0.5 * self.dropout(self.last(x)))


class DecoderBlock(nn.Module):
    """Self-attention, attention to the encoder, feed-forward; norms first."""

    def __init__(self, hidden: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(hidden) for _ in range(3))
        self.own, self.source = CrossAttention(hidden, heads), CrossAttention(hidden, heads)
        self.inner, self.outer = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, causal: Tensor) -> Tensor:
        y = self.norm1(x)
        x = x + self.dropout(self.own(y, y, causal))
        x = x + self.dropout(self.source(self.norm2(x), memory))
        return x + self.dropout(self.outer(functional.relu(self.inner(self.norm3(x)))))


class Subsampling(nn.Module):
    """Frames to a quarter by two strided convolutions, and a projection."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, hidden, 3, 2)
        self.conv2 = nn.Conv2d(hidden, hidden, 3, 2)
        self.project = nn.Linear(hidden * (((features - 1) // 2 - 1) // 2), hidden)

    def forward(self, frames: Tensor) -> Tensor:
        x = functional.relu(self.conv2(functional.relu(self.conv1(frames.unsqueeze(1)))))
        batch, channels, length, width = x.shape
        return self.project(x.transpose(1, 2).reshape(batch, length, channels * width))


class Conformer(nn.Module):
    """Speech recognition.

    Args:
        frames: of a sample, before subsampling.
        features: of a frame.
        tokens: of a transcript, for the decoder and the losses.
        decoder_layers: 0 leaves the encoder alone.
        ctc: whether the CTC loss is computed beside the decoder's.
    """

    def __init__(
        self,
        hidden: int = 256,
        heads: int = 4,
        inner: int = 2048,
        layers: int = 12,
        decoder_layers: int = 6,
        kernel: int = 15,
        frames: int = 1220,
        features: int = 80,
        tokens: int = 48,
        vocabulary: int = 4233,
        dropout: float = 0.1,
        ctc: bool = True,
    ) -> None:
        super().__init__()
        self.frames, self.features, self.tokens, self.ctc = frames, features, tokens, ctc
        self.subsampling = Subsampling(features, hidden)
        self.length = ((frames - 1) // 2 - 1) // 2
        self.register_buffer("positions", torch.zeros(1, self.length, hidden))
        self.layers = nn.ModuleList(
            ConformerBlock(hidden, heads, inner, kernel, dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(hidden)
        self.decoder = nn.ModuleList(
            DecoderBlock(hidden, heads, inner, dropout) for _ in range(decoder_layers)
        )
        if decoder_layers:
            self.words = nn.Embedding(vocabulary, hidden)
            self.decoder_norm = nn.LayerNorm(hidden)
            self.head = nn.Linear(hidden, vocabulary)
            self.ctc_head = nn.Linear(hidden, vocabulary) if ctc else None

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = self.norm.weight.dtype
        given = {
            "frames": torch.empty(batch, self.frames, self.features, dtype=dtype),
            "mask": torch.empty(batch, 1, 1, self.length, dtype=dtype),
        }
        if len(self.decoder):
            given["transcript"] = torch.empty(batch, self.tokens, dtype=torch.int32)
            if training:
                given["labels"] = torch.empty(batch, self.tokens, dtype=torch.int32)
                if self.ctc:
                    given["lengths"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(
        self,
        frames: Tensor,
        mask: Tensor,
        transcript: Tensor | None = None,
        labels: Tensor | None = None,
        lengths: Tensor | None = None,
    ):
        x = self.subsampling(frames)
        for layer in self.layers:
            x = layer(x, self.positions, mask)
        x = self.norm(x)
        if transcript is None:
            return x
        y = self.words(transcript)
        ones = torch.ones(self.tokens, self.tokens, dtype=x.dtype, device=x.device)
        causal = torch.triu(ones, 1) * -10000.0
        for layer in self.decoder:
            y = layer(y, x, causal)
        y = self.head(self.decoder_norm(y))
        if labels is None:
            return y
        loss = functional.cross_entropy(y.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        if self.ctc_head is not None and lengths is not None:
            probabilities = functional.log_softmax(self.ctc_head(x), -1).transpose(0, 1)
            steps = torch.full((x.shape[0],), self.length, dtype=torch.int32, device=x.device)
            aligned = functional.ctc_loss(probabilities, labels, steps, lengths, zero_infinity=True)
            loss = 0.7 * loss + 0.3 * aligned
        return loss, loss
