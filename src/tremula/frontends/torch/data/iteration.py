"""Going over a torch loader in this process or with worker processes, with less overhead than torch's own way.

The iterators are torch's; what they are given differs: how samples become a batch (`collate`), and how a
batch comes back from a worker process (`arena`). Order, random numbers, worker settings and errors are torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch.utils.data import DataLoader, default_collate
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from tremula.frontends.torch.data.arena import Arenas, PackingCollate, Parcel, available
from tremula.frontends.torch.data.collate import BatchCollate, WholeBatches
from tremula.frontends.torch.data.wait_time import CHANNEL, DataWait
from tremula.trace.points import Span

#: Batches that a program may hold, beyond those under way, before torch's way is taken for more.
_BATCHES_IN_USE = 2


def iterate(
    loader: DataLoader[Any], collate: BatchCollate, wait: DataWait, whole_batches: bool = True
) -> _BaseDataLoaderIter:
    """An iterator over the batches of `loader`; counts the time that the user waits in `wait`.

    `collate` takes the place of torch's default; with `whole_batches`, tensors in memory are read by the batch.
    """
    parts = _Parts(loader, collate, whole_batches)
    if loader.num_workers == 0:
        return _InProcess(parts, wait)
    loader.check_worker_number_rationality()
    with Span(CHANNEL, "start workers"):
        return _WithWorkers(parts, wait)


class _Parts:
    """A loader, as an iterator sees it: with other ways to read and to collate."""

    def __init__(self, loader: DataLoader[Any], collate: BatchCollate, whole_batches: bool) -> None:
        self._loader = loader
        self.dataset: Any = loader.dataset
        self.collate_fn: Callable[[Any], Any] = loader.collate_fn
        self.worker_init_fn: Any = loader.worker_init_fn
        self.arenas: Arenas | None = None
        if loader._auto_collation and loader.collate_fn is default_collate:
            self.collate_fn = collate
            if whole_batches and loader._dataset_kind == _DatasetKind.Map:
                self.dataset = WholeBatches.of(loader.dataset)
        if loader.num_workers and available():
            ahead = loader.prefetch_factor or 2
            self.arenas = Arenas(loader.num_workers, ahead + _BATCHES_IN_USE)
            self.collate_fn = PackingCollate(self.collate_fn, self.arenas)
            if self.dataset is not loader.dataset:
                self.worker_init_fn = _ShowDataset(loader.worker_init_fn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _ShowDataset:
    """Lets `get_worker_info().dataset` be the user's data set, before the user's own preparation runs."""

    def __init__(self, then: Any) -> None:
        self._then = then

    def __call__(self, worker: int) -> None:
        information = torch.utils.data.get_worker_info()
        if information is not None and isinstance(information.dataset, WholeBatches):
            object.__setattr__(
                information, "dataset", information.dataset.dataset
            )  # it refuses to be changed
        if self._then is not None:
            self._then(worker)


class _InProcess(_SingleProcessDataLoaderIter):
    def __init__(self, parts: Any, wait: DataWait) -> None:
        super().__init__(parts)
        self._wait = wait
        self._is_plain = self._dataset_kind == _DatasetKind.Map and not self._pin_memory

    def __next__(self) -> Any:
        start = perf_counter()
        if self._is_plain and not torch._C._autograd._profiler_enabled():
            data = self._dataset_fetcher.fetch(next(self._sampler_iter))
            self._num_yielded += 1
        else:
            data = super().__next__()
        self._wait.add(perf_counter() - start)
        return data


class _WithWorkers(_MultiProcessingDataLoaderIter):
    def __init__(self, parts: Any, wait: DataWait) -> None:
        self._wait = wait
        self._arenas = parts.arenas  # kept for as long as batches may come
        super().__init__(parts)

    def __next__(self) -> Any:
        start = perf_counter()
        data = super().__next__()
        if type(data) is Parcel:
            data = data.unpack()
        self._wait.add(perf_counter() - start)
        return data
