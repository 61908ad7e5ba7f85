"""The encoder layer that BERT, ViT and CLIP share, with the attention written out as products and a softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head self-attention. One product makes query, key and value; `separate`: three do."""

    def __init__(
        self, hidden: int, heads: int, dropout: float = 0.0, causal: bool = False, separate: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.causal, self.separate = heads, causal, separate
        if separate:
            self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        else:
            self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, hidden = x.shape
        width = hidden // self.heads
        if self.separate:
            made = (
                each(x).view(batch, length, self.heads, width) for each in (self.query, self.key, self.value)
            )
            query, key, value = (part.transpose(1, 2) for part in made)
        else:
            parts = self.query_key_value(x).view(batch, length, 3, self.heads, width)
            query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        scores = query @ key.transpose(-1, -2) / math.sqrt(width)
        if self.causal:
            ones = torch.ones(length, length, dtype=torch.bool, device=x.device)
            scores = scores.masked_fill(~torch.tril(ones), -10000.0)
        if mask is not None:
            scores = scores + mask
        context = self.dropout(torch.softmax(scores, -1)) @ value
        return self.output(context.transpose(1, 2).reshape(batch, length, hidden))


class FeedForward(nn.Module):
    """Two linear layers with a GELU between them: gelu, gelu_tanh, quick_gelu, or gelu_parts in single ops.

    With `wide`, a GELU of one op works in float32.
    """

    def __init__(
        self, hidden: int, inner: int, activation: str = "gelu", wide: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.inner = nn.Linear(hidden, inner)
        self.outer = nn.Linear(inner, hidden)
        self.activation, self.wide = activation, wide

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(x)
        if self.activation == "quick_gelu":
            x = x * torch.sigmoid(1.702 * x)
        elif self.activation == "gelu_parts":
            # as TensorFlow's BERT writes it: eight ops
            cube = torch.pow(x, 3)
            x = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * cube)))
        else:
            y = x.float() if self.wide else x
            y = functional.gelu(y, approximate="tanh" if self.activation == "gelu_tanh" else "none")
            x = y.to(x.dtype)
        return self.outer(self.dropout(x))


class WideLayerNorm(nn.LayerNorm):
    """A norm that works in float32, whatever its input."""

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.weight.float(), self.bias.float()
        return functional.layer_norm(x.float(), self.normalized_shape, weight, bias, self.eps).to(x.dtype)


class EncoderLayer(nn.Module):
    """Attention and feed-forward with residuals; the norm after each (BERT) or before each (ViT, GPT)."""

    def __init__(
        self,
        hidden: int,
        heads: int,
        inner: int,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        norm_first: bool = False,
        causal: bool = False,
        activation: str = "gelu",
        wide: bool = False,
        separate: bool = False,
        inner_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        norm = WideLayerNorm if wide else nn.LayerNorm
        self.attention = Attention(hidden, heads, attention_dropout, causal, separate)
        self.attention_norm = norm(hidden)
        self.feed_forward = FeedForward(hidden, inner, activation, wide, inner_dropout)
        self.feed_forward_norm = norm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
