"""ViT (Dosovitskiy et al., 2020) and CLIP's pair of encoders (Radford et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .transformer import EncoderLayer

SIZES = {"tiny": (192, 12, 3), "small": (384, 12, 6), "base": (768, 12, 12), "large": (1024, 24, 16)}


class Patches(nn.Module):
    """Image patches as tokens, with the class token and positions."""

    def __init__(self, hidden: int, image: int, patch: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Conv2d(3, hidden, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, hidden))
        self.dropout = nn.Dropout(dropout)

    def forward(self, images: Tensor) -> Tensor:
        x = self.project(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.dropout(x + self.positions)


class Vit(nn.Module):
    """An image classifier of a named size; patches of `patch` x `patch` pixels.

    `separate`: query, key and value are products of their own; `inner_dropout` follows the activation function.
    """

    def __init__(
        self,
        size: str = "base",
        image: int = 224,
        patch: int = 16,
        classes: int = 1000,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        separate: bool = False,
        inner_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden, depth, heads = SIZES[size]
        self.image = image
        self.patches = Patches(hidden, image, patch, dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                hidden,
                heads,
                4 * hidden,
                dropout=dropout,
                attention_dropout=attention_dropout,
                norm_first=True,
                separate=separate,
                inner_dropout=inner_dropout,
            )
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, classes)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        images = torch.empty(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        given = {"images": images}
        if training:
            given["labels"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(self, images: Tensor, labels: Tensor | None = None):
        x = self.patches(images)
        for layer in self.layers:
            x = layer(x)
        x = self.head(self.norm(x)[:, 0])
        return x if labels is None else (x, functional.cross_entropy(x, labels))


class Clip(nn.Module):
    """The image encoder (ViT-B/32) and the text encoder, and the similarities of their results.

    `texts` is the number of texts of a micro-batch: as many as there are images if it is left out.
    """

    def __init__(
        self,
        image: int = 224,
        patch: int = 32,
        words: int = 77,
        vocabulary: int = 49_408,
        texts: int | None = None,
    ) -> None:
        super().__init__()
        self.image, self.words, self.texts = image, words, texts
        self.patches = Patches(768, image, patch, 0.0)
        self.image_layers = nn.ModuleList(
            EncoderLayer(768, 12, 3072, norm_first=True, activation="quick_gelu") for _ in range(12)
        )
        self.image_norm = nn.LayerNorm(768)
        self.image_projection = nn.Linear(768, 512, bias=False)
        self.tokens = nn.Embedding(vocabulary, 512)
        self.positions = nn.Parameter(torch.zeros(words, 512))
        self.text_layers = nn.ModuleList(
            EncoderLayer(512, 8, 2048, norm_first=True, causal=True, activation="quick_gelu")
            for _ in range(12)
        )
        self.text_norm = nn.LayerNorm(512)
        self.text_projection = nn.Linear(512, 512, bias=False)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch; the model is for inference only."""
        images = torch.empty(batch, 3, self.image, self.image, dtype=self.positions.dtype)
        return {"images": images, "text": torch.empty(self.texts or batch, self.words, dtype=torch.int32)}

    def forward(self, images: Tensor, text: Tensor) -> Tensor:
        x = self.patches(images)
        for layer in self.image_layers:
            x = layer(x)
        x = self.image_projection(self.image_norm(x[:, 0]))
        y = self.tokens(text) + self.positions
        for layer in self.text_layers:
            y = layer(y)
        y = self.text_projection(self.text_norm(y[:, -1]))
        x = x / x.norm(dim=-1, keepdim=True)
        y = y / y.norm(dim=-1, keepdim=True)
        return 100.0 * x @ y.t()
