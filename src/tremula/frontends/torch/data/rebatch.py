"""Cutting a stream of batches of any size into batches of one size.

`Rebatcher` says where the rows of a batch go (it moves no data); `combine_batches` joins a fixed number of
consecutive batches into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch


class Span(NamedTuple):
    """Rows `start` to `stop` of the incoming batch go to row `at` of the batch that is being filled."""

    start: int
    stop: int
    at: int
    completes: bool  #: the batch that is being filled is complete with this span


class Rebatcher:
    """Book-keeping of a batch of `size` rows, `filled` of which are there."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a batch needs at least one row, not {size}")
        self.size = size
        self.filled = 0

    def spans(self, rows: int) -> Iterator[Span]:
        """Where the rows of an incoming batch of `rows` rows go."""
        start = 0
        while start < rows:
            count = min(rows - start, self.size - self.filled)
            at = self.filled
            self.filled = (at + count) % self.size
            yield Span(start, start + count, at, self.filled == 0)
            start += count

    def reset(self) -> None:
        """Forget the batch under way."""
        self.filled = 0


def combine_batches(
    batches: Iterable[Any],
    count: int,
    *,
    drop_last: bool,
    flatten: Callable[[Any], Sequence[torch.Tensor]],
    rebuild: Callable[[Any, Iterator[torch.Tensor]], Any],
) -> Iterator[Any]:
    """Join each `count` consecutive batches along the first dimension; `drop_last` drops fewer at the end.

    `flatten` gives the tensors of a batch, `rebuild` a batch with the structure of one and the tensors of another.
    """
    group: list[Sequence[torch.Tensor]] = []
    batch = None
    for batch in batches:
        group.append(flatten(batch))
        if len(group) == count:
            yield rebuild(batch, _joined(group))
            group = []
    if group and not drop_last:
        yield rebuild(batch, _joined(group))


def _joined(group: Sequence[Sequence[torch.Tensor]]) -> Iterator[torch.Tensor]:
    for parts in zip(*group, strict=True):
        yield torch.cat(parts)
