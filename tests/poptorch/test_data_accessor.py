"""The accessor by itself and below a loader: order, what it refuses, its process and its end."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.poptorch.loaders import FORK, Numbers, epoch, make, opts

from poptorch._data_accessor import AsynchronousDataAccessor
from poptorch.enums import DataLoaderMode
from tremula.errors import Error

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_the_accessor_takes_any_iterable() -> None:
    accessor = AsynchronousDataAccessor(Numbers_up_to(4), **FORK)
    assert epoch(accessor) == epoch(accessor) == [0, 1, 2, 3]
    assert len(accessor) == 4
    accessor.terminate()


def Numbers_up_to(n: int) -> list[torch.Tensor]:
    return list(torch.arange(n))


def test_tuples_come_back_as_lists_and_dictionaries_as_such() -> None:
    (item,) = AsynchronousDataAccessor([(torch.tensor(1), torch.tensor(2))], **FORK)
    assert item == [torch.tensor(1), torch.tensor(2)]
    (item,) = AsynchronousDataAccessor([{"a": torch.tensor(1)}], **FORK)
    assert item == {"a": torch.tensor(1)}


def test_the_accessor_around_a_loader_rebatches() -> None:
    loader = make(opts(), Numbers(10), batch_size=2)
    accessor = AsynchronousDataAccessor(loader, rebatched_size=4, **FORK)
    assert epoch(accessor) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(accessor) == 2


def test_what_the_accessor_refuses() -> None:
    with pytest.raises(Error, match="already uses an AsynchronousDataAccessor"):
        AsynchronousDataAccessor(make(opts(), Numbers(4), DataLoaderMode.Async))
    with pytest.raises(AssertionError, match="greater than 1"):
        AsynchronousDataAccessor(Numbers_up_to(4), rebatched_size=1)
    with pytest.raises(AssertionError, match="'rebatched_size' is specified"):
        AsynchronousDataAccessor(make(opts(), Numbers(5), batch_size=2, drop_last=False))
    with pytest.raises(AssertionError, match="cannot be set in async_options"):
        make(opts(), Numbers(4), DataLoaderMode.Async, async_options={"rebatched_size": 2})
    with pytest.raises(AssertionError, match="rebatched_worker_size"):
        make(opts(), Numbers(4), DataLoaderMode.AsyncRebatched, batch_size=2, rebatched_worker_size=3)
    with pytest.raises(Error, match="buffer_size of at least 1"):
        AsynchronousDataAccessor(Numbers_up_to(4), buffer_size=0)


def test_a_terminated_loader_says_so() -> None:
    loader = make(opts(), Numbers(4), DataLoaderMode.Async)
    loader.terminate()
    loader.terminate()
    with pytest.raises(AssertionError, match="terminated"):
        iter(loader)
    make(opts(), Numbers(4)).terminate()  # nothing to end


def test_an_iterator_has_the_length_of_its_loader() -> None:
    assert len(iter(make(opts(), Numbers(9), DataLoaderMode.Async, batch_size=2))) == 4


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_dropped_half_way_ends_its_process_at_once(workers: int) -> None:
    loader = make(opts(), Numbers(100), DataLoaderMode.Async, num_workers=workers)
    pid = loader._accessor._worker.pid
    for _ in itertools.islice(loader, 3):
        pass
    gc.disable()  # by reference counts alone: a circle would leave it to chance
    try:
        del loader
        assert not is_running(pid)
    finally:
        gc.enable()


def group_members(leader: int) -> list[int]:
    """Live processes of a process group."""
    members = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            state, _, group = entry.read_text().rpartition(")")[2].split()[:3]
            if int(group) == leader and state != "Z":
                members.append(int(entry.parent.name))
    return members


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")
def test_a_killed_worker_is_noticed_and_its_own_workers_are_ended() -> None:
    loader = make(opts(), Numbers(1000), DataLoaderMode.Async, num_workers=2)
    pid = loader._accessor._worker.pid
    assert len(group_members(pid)) == 3
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Error, match="killed by signal 9"):
        epoch(loader)
    end = time.monotonic() + 10
    while group_members(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert group_members(pid) == []


def test_an_iterator_keeps_its_loader() -> None:
    assert [int(batch) for batch in make(opts(), Numbers(5), DataLoaderMode.Async)] == list(range(5))


def test_the_fill_level_is_visible() -> None:
    loader = make(opts(), Numbers(9), DataLoaderMode.Async, async_options={"buffer_size": 5})
    next(iter(loader))  # it stays in its slot until the next one is asked for
    assert sum(loader._accessor._worker._data_buffers.indices_mem) >= 1
    assert len(loader._accessor._worker._data_buffers.indices_mem) == 5


def test_the_worker_writes_to_the_log_of_its_parent(capfd: Any) -> None:
    logger = logging.getLogger("poptorch::python")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        make(opts(), Numbers(2), DataLoaderMode.Async).terminate()
    finally:
        logger.setLevel(level)
    assert "AsynchronousDataAccessor worker process: " in capfd.readouterr().err


def test_random_use_of_the_accessor_never_mixes_epochs() -> None:
    """Leave epochs at random places; each iteration still begins at the beginning."""
    choose = random.Random(5)
    accessor = AsynchronousDataAccessor(Numbers_up_to(6), buffer_size=choose.randint(1, 4), **FORK)
    for _ in range(50):
        used = choose.randint(0, 6)
        assert [int(x) for x in itertools.islice(accessor, used)] == list(range(used))
    accessor.terminate()
