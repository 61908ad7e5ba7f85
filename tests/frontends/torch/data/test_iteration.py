"""Going over a loader gives what torch's own iterators give, in the same order, with and without workers."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from tremula.frontends.torch.data import wait_time
from tremula.frontends.torch.data.collate import BatchCollate
from tremula.frontends.torch.data.iteration import iterate
from tremula.frontends.torch.data.wait_time import DataWait

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

WORKERS = [0, 2]


class Ours(DataLoader[Any]):
    """Torch's loader with our iterators."""

    def _get_iterator(self) -> Any:
        self.waited = getattr(self, "waited", DataWait())
        return iterate(self, BatchCollate(), self.waited)


class Pairs(Dataset[Any]):
    def __init__(self, length: int, broken: int | None = None) -> None:
        self.length, self.broken = length, broken

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if index == self.broken:
            raise ValueError(f"sample {index} is broken")
        return {"values": torch.full((50,), index), "label": index, "noise": torch.rand(2)}


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        start = worker.id if worker else 0
        return iter(
            [(torch.tensor([number]), float(number)) for number in range(start, 11, 2 if worker else 1)]
        )


def pad(samples: list[Any]) -> Any:
    return torch.nn.utils.rnn.pad_sequence([torch.ones(1 + 7 * (sample["label"] % 5)) for sample in samples])


DATA: dict[str, tuple[Any, dict[str, Any]]] = {
    "in memory": (TensorDataset(torch.randn(30, 4), torch.arange(30)), {}),
    "in memory, shuffled": (TensorDataset(torch.randn(30, 4), torch.arange(30)), {"shuffle": True}),
    "dictionaries": (Pairs(30), {"shuffle": True}),
    "own collate function": (Pairs(30), {"collate_fn": pad}),
    "stream": (Stream(), {}),
    "not batched": (Pairs(7), {"batch_size": None}),
}


def flat(batch: Any) -> list[torch.Tensor]:
    if isinstance(batch, dict):
        return list(map(torch.as_tensor, batch.values()))
    return list(batch) if isinstance(batch, (list, tuple)) else [batch]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", DATA)
def test_batches_order_and_random_numbers_are_torchs(name: str, workers: int) -> None:
    dataset, more = DATA[name]
    arguments = {"batch_size": 4, "num_workers": workers, "persistent_workers": workers > 0, **more}
    epochs = []
    for kind in (Ours, DataLoader):
        torch.manual_seed(5)
        loader = kind(dataset, **arguments)
        # All batches of two epochs are kept: more than there are slots.
        epochs.append([flat(batch) for _ in range(2) for batch in loader])
        del loader
    assert len(epochs[0]) == len(epochs[1]) > 4
    for found, expected in zip(*epochs, strict=True):
        assert [tensor.dtype for tensor in found] == [tensor.dtype for tensor in expected]
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def dataset_is_shown(worker: int) -> None:
    information = get_worker_info()
    assert information is not None
    assert type(information.dataset) is TensorDataset
    information.dataset.tensors[0].add_(worker)


def test_the_preparation_of_a_worker_sees_the_users_data_set() -> None:
    loader = Ours(TensorDataset(torch.zeros(4)), num_workers=2, worker_init_fn=dataset_is_shown)
    assert [float(batch) for (batch,) in loader] == [0, 1, 0, 1]


def test_an_epoch_left_half_way_does_not_use_up_the_slots() -> None:
    loader = Ours(Pairs(60), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(8):
        for number, batch in enumerate(loader):
            assert batch["values"][0, 0] == 2 * number
            if number == 3:
                break
    arenas = loader._iterator._arenas
    del batch
    # What was loaded ahead and thrown away is free again: only what is under way is taken.
    assert sum(sum(arenas.mapping(worker, 0)[: arenas.slots]) for worker in range(2)) <= 2 * 2


def end(batches: Any) -> None:
    """End the workers now: an exception keeps its iterator until the garbage collector finds the circle."""
    if hasattr(batches, "_shutdown_workers"):
        batches._shutdown_workers()


@pytest.mark.parametrize("workers", WORKERS)
def test_an_exception_of_the_data_set_is_the_users(workers: int) -> None:
    loader = Ours(Pairs(9, broken=5), num_workers=workers)
    batches = iter(loader)
    for index in range(5):
        assert next(batches)["label"] == index
    with pytest.raises(ValueError, match="sample 5 is broken"):
        next(batches)
    end(batches)


def test_a_dead_worker_is_an_error() -> None:
    batches = iter(Ours(Pairs(100), num_workers=1))
    next(batches)
    os.kill(batches._workers[0].pid, signal.SIGKILL)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        for _ in batches:
            pass
    end(batches)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count descriptors")
def test_worker_iterations_leave_no_descriptors() -> None:
    def once() -> int:
        for _ in Ours(Pairs(12), num_workers=2):
            break
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    once()
    # what earlier tests left open may be closed in between; only growth is a leak
    assert once() >= once()


@pytest.mark.parametrize("workers", WORKERS)
def test_waiting_is_counted(workers: int) -> None:
    before = wait_time.items(), wait_time.waited_seconds()
    loader = Ours(Pairs(8), batch_size=2, num_workers=workers)
    assert len(list(loader)) == loader.waited.items == wait_time.items() - before[0] == 4
    assert loader.waited.seconds == pytest.approx(wait_time.waited_seconds() - before[1])
    assert loader.waited.seconds > 0
