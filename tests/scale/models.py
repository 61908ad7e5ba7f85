"""Small models to study: a stack of linear layers that trains with a loss of its own."""

from __future__ import annotations

import torch

from tremula.frontends.torch.factory import Made, subject_of
from tremula.frontends.torch.subject import TorchSubject
from tremula.program.loops import Loops


class Stack(torch.nn.Module):
    """Linear layers, each a place where a pipeline can be cut."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x, x.pow(2).mean()


def stack(width: int = 64, layers: int = 3, batch: int = 8, accumulation: int = 1) -> TorchSubject:
    """One as a subject; nothing is allocated for its weights."""
    with torch.device("meta"):
        made = Made(Stack(width, layers), (torch.zeros(batch, width),), {}, None)
    return subject_of(made, "stack", training=True, loops=Loops(gradient_accumulation=accumulation))
