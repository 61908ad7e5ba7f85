"""The data loader that the program iterates over, to measure how fast it can be read.

Each loader reports here when an iteration begins. The loader is only remembered while it is tracked: programs may rely
on a loader being freed when they drop it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader

from tremula.distributed.host_run import ReadingSpeed

#: a measurement takes at most this many times the seconds that were asked for, start-up included
_LIMIT = 3
_tracked = False
_current: DataLoader[Any] | None = None


@contextlib.contextmanager
def tracking() -> Iterator[None]:
    """While inside, the loader that was iterated over last is remembered."""
    global _tracked, _current
    _tracked = True
    try:
        yield
    finally:
        _tracked, _current = False, None


def set_current(loader: DataLoader[Any]) -> None:
    """Report that an iteration over `loader` begins."""
    global _current
    if _tracked:
        _current = loader


def current() -> DataLoader[Any] | None:
    """The loader that was iterated over last; None if it is not tracked."""
    return _current


def measure_speed(
    loader: DataLoader[Any], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> ReadingSpeed | None:
    """Iterate over `loader` for about `seconds`, epoch after epoch, without using its batches.

    The clock starts when workers cannot be ahead any more: as many batches as they prepare are not counted. From there
    on everything counts, the beginning of another epoch too. None if that takes too long.
    """
    workers = getattr(loader, "num_workers", 0)
    ahead = 1 + workers * (getattr(loader, "prefetch_factor", None) or 2)
    samples = batches = 0
    opened = now = clock()
    begin: float | None = None
    for seen, batch in enumerate(_epochs(loader), 1):
        now = clock()
        if begin is not None:
            batches += 1
            samples += _samples(batch)
        elif seen >= ahead:
            begin = now
        if (begin is not None and now - begin >= seconds) or now - opened >= _LIMIT * seconds:
            break
    if begin is None or not samples or now <= begin:
        return None
    return ReadingSpeed(samples, batches, now - begin, workers)


def _epochs(loader: DataLoader[Any]) -> Iterator[Any]:
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
