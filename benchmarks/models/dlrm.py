"""DLRM (Naumov et al., 2019): dense features through an MLP, sparse ones through tables, and their products."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional


def _mlp(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """Click prediction.

    Args:
        tables: rows of each table of sparse features.
        width: elements of an entry.
        bottom: widths of the MLP of the dense features, the last one being `width`.
        top: widths of the MLP over the interactions.
    """

    def __init__(
        self,
        tables: tuple[int, ...] = (10_000,) * 26,
        width: int = 16,
        dense: int = 13,
        bottom: tuple[int, ...] = (512, 256, 64),
        top: tuple[int, ...] = (512, 256),
    ) -> None:
        super().__init__()
        self.dense, self.count = dense, len(tables)
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for rows in tables)
        self.bottom = _mlp([dense, *bottom, width])
        pairs = (len(tables) + 1) * len(tables) // 2
        self.top = _mlp([width + pairs, *top])
        self.head = nn.Linear(top[-1], 1)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = self.head.weight.dtype
        given = {
            "dense": torch.empty(batch, self.dense, dtype=dtype),
            "sparse": torch.empty(batch, self.count, dtype=torch.int32),
        }
        if training:
            given["labels"] = torch.empty(batch, dtype=dtype)
        return given

    def forward(self, dense: Tensor, sparse: Tensor, labels: Tensor | None = None):
        x = self.bottom(dense)
        rows = [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        features = torch.stack([x, *rows], 1)
        products = features @ features.transpose(1, 2)
        count = products.shape[1]
        lower = torch.tril_indices(count, count, -1, device=products.device)
        pairs = products.flatten(1)[:, lower[0] * count + lower[1]]
        x = self.head(self.top(torch.cat([x, pairs], 1))).squeeze(1)
        return x if labels is None else (x, functional.binary_cross_entropy_with_logits(x, labels))
