"""BERT: the encoder of Devlin et al. (2018) with the heads of pre-training, question answering or none."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .transformer import EncoderLayer

SIZES = {
    "tiny": (64, 3, 8),
    "small": (512, 4, 8),
    "medium": (512, 8, 8),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
}


class Embeddings(nn.Module):
    """Words, positions and segments, added and normalised."""

    def __init__(self, hidden: int, vocabulary: int, positions: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.segments = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        length = tokens.shape[1]
        places = self.positions.weight[:length]
        return self.dropout(self.norm(self.words(tokens) + places + self.segments(segments)))


class PretrainingHead(nn.Module):
    """Words at the masked positions (by the table of words itself) and whether the second sentence follows."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(hidden, hidden)
        self.follows = nn.Linear(hidden, 2)
        self.transform = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, x: Tensor, masked: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        follows = self.follows(torch.tanh(self.pooler(x[:, 0])))
        chosen = torch.gather(x, 1, masked.long().unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        chosen = self.norm(functional.gelu(self.transform(chosen)))
        return functional.linear(chosen, words, self.bias), follows


class Bert(nn.Module):
    """BERT of a named size.

    Args:
        size: tiny, small, medium, base or large.
        sequence: tokens of a sample.
        task: pretraining, squad or encoder.
        masked: positions to be predicted per sample (pretraining).
        vocabulary: words.
        layers: another number of layers than the size's.
        dropout: of the hidden states.
        attention_dropout: of the attention's weights; most published configurations have none.
        activation: gelu, gelu_tanh, quick_gelu or gelu_parts.
        wide: norms, and a GELU of one op, work in float32.
        separate: query, key and value are products of their own.
    """

    def __init__(
        self,
        size: str = "base",
        sequence: int = 128,
        task: str = "pretraining",
        masked: int = 20,
        vocabulary: int = 30_522,
        layers: int | None = None,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation: str = "gelu",
        wide: bool = False,
        separate: bool = False,
    ) -> None:
        super().__init__()
        hidden, depth, heads = SIZES[size]
        self.task, self.sequence, self.masked = task, sequence, masked
        self.embeddings = Embeddings(hidden, vocabulary, max(512, sequence), dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                hidden,
                heads,
                4 * hidden,
                dropout=dropout,
                attention_dropout=attention_dropout,
                activation=activation,
                wide=wide,
                separate=separate,
            )
            for _ in range(depth if layers is None else layers)
        )
        self.head: nn.Module | None = None
        if task == "pretraining":
            self.head = PretrainingHead(hidden, vocabulary)
        elif task == "squad":
            self.head = nn.Linear(hidden, 2)

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = self.embeddings.words.weight.dtype
        shape = (batch, self.sequence)
        given = {
            "tokens": torch.empty(shape, dtype=torch.int32),
            "mask": torch.empty(batch, 1, 1, self.sequence, dtype=dtype),
            "segments": torch.empty(shape, dtype=torch.int32),
        }
        if self.task == "pretraining":
            given["masked"] = torch.empty(batch, self.masked, dtype=torch.int32)
            if training:
                given["masked_labels"] = torch.empty(batch, self.masked, dtype=torch.int32)
                given["follows_label"] = torch.empty(batch, dtype=torch.int32)
        elif self.task == "squad" and training:
            given["starts"] = torch.empty(batch, dtype=torch.int32)
            given["ends"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor, *rest: Tensor):
        x = self.embeddings(tokens, segments)
        for layer in self.layers:
            x = layer(x, mask)
        if self.head is None:
            return x
        if self.task == "squad":
            starts, ends = self.head(x).unbind(-1)
            if not rest:
                return starts, ends
            loss = functional.cross_entropy(starts, rest[0]) + functional.cross_entropy(ends, rest[1])
            return (starts, ends), loss
        words, follows = self.head(x, rest[0], self.embeddings.words.weight)
        if len(rest) == 1:
            return words, follows
        loss = functional.cross_entropy(words.flatten(0, 1), rest[1].flatten())
        return (loss, loss + functional.cross_entropy(follows, rest[2]))
