"""Data sets, samplers and loaders for tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from poptorch._dataloader import DataLoader
from poptorch.enums import DataLoaderMode, SharingStrategy
from poptorch.options import Options

ALL_MODES = list(DataLoaderMode)
#: quick to start, and the data sets of this file need not be importable
FORK = {"sharing_strategy": SharingStrategy.Fork}


class Numbers(torch.utils.data.Dataset):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index)


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.arange(self.length))


class Batches:
    """A batch sampler: lists of the given sizes."""

    def __init__(self, sizes: list[int], batch_size: int) -> None:
        self.sizes, self.batch_size = sizes, batch_size

    def __iter__(self) -> Iterator[list[int]]:
        indices = itertools.count()
        for size in self.sizes:
            yield list(itertools.islice(indices, size))

    def __len__(self) -> int:
        return len(self.sizes)


class UnsizedBatches(Batches):
    __len__ = None


def opts(iterations: int = 1, accumulation: int = 1, replicas: int = 1) -> Options:
    options = Options()
    options.deviceIterations(iterations)
    options.Training.gradientAccumulation(accumulation)
    options.replicationFactor(replicas)
    return options


def make(
    options: Options, dataset: Any, mode: DataLoaderMode = DataLoaderMode.Sync, **arguments: Any
) -> DataLoader:
    if mode != DataLoaderMode.Sync:
        arguments["async_options"] = {**FORK, **arguments.get("async_options", {})}
    return DataLoader(options, dataset, mode=mode, **arguments)


def epoch(loader: Any) -> list[list[int]]:
    return [batch.tolist() for batch in loader]
