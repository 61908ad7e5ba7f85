"""Small models to ask about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tremula.frontends.torch.factory import make, subject_of
from tremula.frontends.torch.subject import TorchSubject


class Stack(nn.Module):
    """Linear layers; with labels a loss."""

    def __init__(self, width: int = 64, layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        for layer in self.layers:
            x = torch.relu(layer(x))
        x = self.head(x)
        return x if labels is None else (x, functional.cross_entropy(x, labels))


@pytest.fixture(scope="session")
def stack() -> Callable[..., TorchSubject]:
    """A stack of linear layers as a subject: stack(width=, layers=, batch=, training=, optimizer=)."""

    def build(
        width: int = 64, layers: int = 4, batch: int = 8, training: bool = True, **options: Any
    ) -> TorchSubject:
        def factory() -> Any:
            inputs = (torch.empty(batch, width), torch.empty(batch, dtype=torch.long))
            return Stack(width, layers), inputs if training else inputs[:1]

        return subject_of(make(factory), "stack", **options)

    return build
