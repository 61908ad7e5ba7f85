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
    """How fast a loader was read, without its first batch."""

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

    The first batch of each epoch is not counted: workers start, files are opened. None if there is but one.
    """
    samples = batches = 0
    spent = 0.0
    while spent < seconds:
        before = None
        counted = batches
        for batch in loader:
            now = clock()
            if before is not None:
                spent += now - before
                batches += 1
                samples += _samples(batch)
                if spent >= seconds:
                    break
            before = now
        if batches == counted:
            break
    if not samples or spent <= 0:
        return None
    return ReadingSpeed(samples, batches, spent, getattr(loader, "num_workers", 0))


def _samples(batch: Any) -> int:
    tensors = (leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor) and leaf.dim())
    first = next(tensors, None)
    return 0 if first is None else int(first.shape[0])
