"""Which loader the program is going over, for those who want to know how fast it could be read.

A loader says here that somebody begins to go over it. Nothing is kept unless somebody watches: programs may count on
loaders that they drop being gone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader

#: how many times as long as asked a loader is read at most, with all that it takes to get under way
_PATIENCE = 3
_watched = False
_newest: DataLoader[Any] | None = None


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """While inside, the loader that was gone over last is known, and kept."""
    global _watched, _newest
    _watched = True
    try:
        yield
    finally:
        _watched, _newest = False, None


def begins(loader: DataLoader[Any]) -> None:
    """Somebody begins to go over `loader`."""
    global _newest
    if _watched:
        _newest = loader


def newest() -> DataLoader[Any] | None:
    """The loader that was gone over last; None if nobody watches."""
    return _newest


@dataclass(frozen=True)
class ReadingSpeed:
    """How fast a loader was read, once it was under way."""

    samples: int
    batches: int
    seconds: float
    #: processes that load; 0: the program's own
    workers: int

    @property
    def samples_per_second(self) -> float:
        """Measured by this machine's clock."""
        return self.samples / self.seconds


def read(
    loader: DataLoader[Any], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> ReadingSpeed | None:
    """Go over `loader` again and again for about `seconds`, doing nothing with its batches.

    The clock starts when workers cannot be ahead any more: as many batches as they prepare are not counted. From there
    on everything counts, the beginning of another epoch too. None if it takes too long to come so far.
    """
    workers = getattr(loader, "num_workers", 0)
    ahead = 1 + workers * (getattr(loader, "prefetch_factor", None) or 2)
    samples = batches = 0
    opened = now = clock()
    begin: float | None = None
    for seen, batch in enumerate(_again_and_again(loader), 1):
        now = clock()
        if begin is not None:
            batches += 1
            samples += _samples(batch)
        elif seen >= ahead:
            begin = now
        if (begin is not None and now - begin >= seconds) or now - opened >= _PATIENCE * seconds:
            break
    if begin is None or not samples or now <= begin:
        return None
    return ReadingSpeed(samples, batches, now - begin, workers)


def _again_and_again(loader: DataLoader[Any]) -> Iterator[Any]:
    """The batches of one epoch after the other, until one has none."""
    more = True
    while more:
        more = False
        for batch in loader:
            more = True
            yield batch


def _samples(batch: Any) -> int:
    tensors = (leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor) and leaf.dim())
    first = next(tensors, None)
    return 0 if first is None else int(first.shape[0])
