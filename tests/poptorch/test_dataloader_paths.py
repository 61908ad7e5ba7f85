"""The quick ways through a loader (whole batches, batches made in their slot) give what the plain way gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset, Subset, TensorDataset

from poptorch._data_accessor import AsynchronousDataAccessor
from poptorch._dataloader import DataLoader
from poptorch.enums import DataLoaderMode, SharingStrategy
from poptorch.options import Options
from tremula.frontends.torch.data import wait_time

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

FORK = {"sharing_strategy": SharingStrategy.Fork}


class Mixed(Dataset[Any]):
    """A tensor, a number and, in every other sample, keys in another order."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        sample = {"x": torch.full((3,), index), "n": index, "y": torch.full((3,), -index)}
        # A batch takes the order of its first sample; slots have that of the first batch.
        return sample if index % 4 else dict(reversed(sample.items()))


DATA = {
    "tensors": TensorDataset(torch.randn(50, 3), torch.arange(50)),
    "subset": Subset(TensorDataset(torch.randn(50, 3), torch.arange(50)), list(range(49, -1, -1))),
    "mixed": Mixed(50),
}


def make(
    dataset: Any, mode: DataLoaderMode, kind: type[DataLoader] = DataLoader, **arguments: Any
) -> DataLoader:
    if mode != DataLoaderMode.Sync:
        arguments["async_options"] = FORK
    return kind(Options().deviceIterations(2), dataset, batch_size=3, mode=mode, **arguments)


def batches(loader: Any) -> list[dict[Any, torch.Tensor]]:
    """Copies of all batches, as dictionaries."""
    found = []
    for batch in loader:
        named = batch if isinstance(batch, dict) else dict(enumerate(batch))
        found.append({key: value.clone() for key, value in named.items()})
    return found


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in other)
        assert all(one[key].dtype == other[key].dtype for key in other)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("mode", list(DataLoaderMode))
@pytest.mark.parametrize("name", DATA)
def test_every_mode_gives_torchs_batches(name: str, mode: DataLoaderMode, workers: int) -> None:
    expected = batches(torch.utils.data.DataLoader(DATA[name], batch_size=6, drop_last=True))
    loader = make(DATA[name], mode, num_workers=workers)
    for _ in range(2):
        assert_equal(batches(loader), expected)
    loader.terminate()


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_rows_of_smaller_reads_are_put_together_in_the_slot(size: int) -> None:
    expected = batches(torch.utils.data.DataLoader(DATA["mixed"], batch_size=6))
    loader = make(DATA["mixed"], DataLoaderMode.AsyncRebatched, rebatched_worker_size=size, drop_last=False)
    for _ in range(2):
        assert_equal(batches(loader), expected)
    loader.terminate()


class LooksAhead(DataLoader):
    """A user's loader that reads a batch before it hands out the one before."""

    def __iter__(self) -> Iterator[Any]:
        if self._accessor is not None:
            return super().__iter__()
        return (pair[0] for pair in itertools.pairwise(super().__iter__()))


def test_a_loader_with_its_own_iteration_is_not_written_over() -> None:
    expected = batches(torch.utils.data.DataLoader(DATA["tensors"], batch_size=6, drop_last=True))[:-1]
    loader = make(DATA["tensors"], DataLoaderMode.Async, LooksAhead)
    assert_equal(batches(loader), expected)
    loader.terminate()


class PairsOfIndices:
    batch_size = 2

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[list[int]]:
        return iter([[index, index + 1] for index in range(self.count)])

    def __len__(self) -> int:
        return self.count


def test_micro_batches_that_are_joined_are_not_written_over_each_other() -> None:
    loader = DataLoader(
        Options().deviceIterations(3),
        DATA["tensors"],
        batch_sampler=PairsOfIndices(9),
        mode=DataLoaderMode.Async,
        async_options=FORK,
    )
    assert [batch[1].tolist() for batch in batches(loader)] == [
        [first, first + 1, first + 1, first + 2, first + 2, first + 3] for first in (0, 3, 6)
    ]
    loader.terminate()


def test_synchronous_batches_stay_valid() -> None:
    kept = list(make(DATA["tensors"], DataLoaderMode.Sync, num_workers=2))
    assert torch.cat([batch[1] for batch in kept]).tolist() == list(range(48))


def test_waiting_for_data_is_counted_in_all_modes() -> None:
    for mode in DataLoaderMode:
        before = wait_time.items()
        loader = make(DATA["tensors"], mode)
        count = len(batches(loader))
        assert loader._wait.items == wait_time.items() - before == count
        assert loader._wait.seconds >= 0
        loader.terminate()
    accessor = AsynchronousDataAccessor([torch.zeros(1)] * 3, **FORK)
    before = wait_time.items()
    assert len(list(accessor)) == wait_time.items() - before == 3
    accessor.terminate()
