"""Attention alone, with its query, key and value as parameters, so that training asks for all three gradients."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class AttentionAlone(nn.Module):
    """Causal attention of `heads` heads over `length` tokens of `width` elements."""

    def __init__(self, heads: int = 16, length: int = 2048, width: int = 64) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Parameter(torch.zeros(heads, length, width)) for _ in range(3))

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """What the result is multiplied by, as the gradient that comes from above."""
        return {"gradient": torch.empty(batch, *self.value.shape, dtype=self.value.dtype)}

    def forward(self, gradient: Tensor):
        length = self.query.shape[1]
        scores = self.query @ self.key.transpose(-1, -2) / math.sqrt(self.query.shape[-1])
        past = torch.ones(length, length, dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~past, -math.inf)
        result = torch.softmax(scores, -1) @ self.value
        return result, (result * gradient).sum()
