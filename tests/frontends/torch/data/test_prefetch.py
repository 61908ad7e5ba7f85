"""A real worker process: what it hands out, and that nothing of it is left behind.

Most tests fork, which is quick and lets data sets be defined here.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import TensorDataset

from tremula.errors import Error
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


class Numbers:
    """`count` tensors, each holding its index and the number of the epoch; may misbehave at one index."""

    def __init__(self, count: int, trouble_at: int | None = None, trouble: Any = None, rows: int = 1) -> None:
        self.count, self.trouble_at, self.trouble, self.rows = count, trouble_at, trouble, rows
        self.epoch = -1

    def __iter__(self) -> Iterator[torch.Tensor]:
        self.epoch += 1
        for index in range(self.count):
            if index == self.trouble_at:
                self.trouble()
            yield torch.tensor([[index, self.epoch]]).repeat(self.rows, 1)


def fail() -> None:
    raise ValueError("index five is broken")


def hang() -> None:
    time.sleep(600)


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def start() -> Iterator[Any]:
    workers = []

    def make(dataset: Any, sharing: Sharing = Sharing.FORK, **settings: Any) -> PrefetchWorker:
        worker = PrefetchWorker(dataset, WorkerSettings(**settings), sharing)
        workers.append(worker)
        return worker

    yield make
    for worker in workers:
        worker.terminate()


def epoch_of(worker: PrefetchWorker) -> list[list[int]]:
    """Go through an epoch; (index, epoch) of the first row of each item."""
    worker.begin_epoch()
    seen = []
    while True:
        try:
            seen.append(worker.next_item()[0].tolist())  # type: ignore[index]
        except StopIteration:
            return seen


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A dead child nobody has waited for yet still has a process id.
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True


def wait_for(condition: Any, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


@pytest.mark.parametrize("slots", [1, 2, 3, 8])
@pytest.mark.parametrize("load_indefinitely", [True, False])
def test_every_epoch_is_complete_and_in_order(start: Any, slots: int, load_indefinitely: bool) -> None:
    worker = start(Numbers(5), slots=slots, load_indefinitely=load_indefinitely)
    for epoch in range(4):
        assert epoch_of(worker) == [[index, epoch] for index in range(5)]


@pytest.mark.parametrize("used", [1, 3, 5])
@pytest.mark.parametrize("slots", [1, 3])
def test_an_abandoned_epoch_leaves_nothing_in_the_next(start: Any, used: int, slots: int) -> None:
    worker = start(Numbers(5), slots=slots)
    worker.begin_epoch()
    for _ in range(used):
        worker.next_item()
    # The second epoch is the second pass over the data set, however far the worker had got meanwhile.
    assert epoch_of(worker) == [[index, 1] for index in range(5)]


def test_beginning_twice_without_use_is_one_beginning(start: Any) -> None:
    worker = start(Numbers(3))
    worker.begin_epoch()
    worker.begin_epoch()
    assert epoch_of(worker) == [[0, 0], [1, 0], [2, 0]]


def test_an_epoch_stays_over_until_the_next_begins(start: Any) -> None:
    worker = start(Numbers(2))
    epoch_of(worker)
    for _ in range(2):
        with pytest.raises(StopIteration):
            worker.next_item()


def test_an_item_is_not_overwritten_while_it_is_the_current_one(start: Any) -> None:
    worker = start(Numbers(4), slots=2)
    worker.begin_epoch()
    last = None
    for index in range(4):
        item = worker.next_item()
        # Once the other slot is full again, the worker has done all it may.
        assert wait_for(lambda: bool(worker.ring.indices_mem.all())) or index >= 2
        assert item[0].tolist() == [index, 0]
        last = item
    with pytest.raises(StopIteration):
        worker.next_item()
    assert wait_for(lambda: bool(worker.ring.indices_mem.all()))  # the next epoch is being loaded
    assert last[0].tolist() == [3, 0]


def test_preloading_fills_the_ring_and_else_only_one_slot_is_filled(start: Any) -> None:
    early = start(Numbers(10), slots=5, early_preload=True)
    late = start(Numbers(10), slots=5)
    assert wait_for(lambda: int(early.ring.indices_mem.sum()) == 5)
    assert wait_for(lambda: int(late.ring.indices_mem.sum()) == 1)
    assert epoch_of(early) == epoch_of(late)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("rows", "size"), [(1, 4), (3, 4), (4, 4), (9, 4), (2, 7)])
def test_rebatching_hands_out_all_rows(start: Any, rows: int, size: int, keep: bool) -> None:
    worker = start(Numbers(5, rows=rows), rebatched_size=size, keep_remainder=keep)
    total = [index for index in range(5) for _ in range(rows)]
    for _ in range(2):
        worker.begin_epoch()
        batches = []
        while True:
            try:
                batches.append(worker.next_item()[:, 0].tolist())
            except StopIteration:
                break
        expected = [total[first : first + size] for first in range(0, len(total), size)]
        assert batches == [batch for batch in expected if keep or len(batch) == size]


@pytest.mark.parametrize("sharing", list(Sharing))
def test_all_ways_of_sharing_give_the_same(start: Any, sharing: Sharing) -> None:
    dataset = TensorDataset(torch.arange(12.0).reshape(4, 3), torch.arange(4))
    worker = start([dataset[index] for index in range(4)], sharing)
    worker.begin_epoch()
    for index in range(4):
        values, label = worker.next_item()
        assert torch.equal(values, dataset.tensors[0][index])
        assert label.item() == index


def test_an_exception_is_reported_after_the_items_before_it(start: Any, capfd: Any) -> None:
    worker = start(Numbers(9, 5, fail), slots=2)
    worker.begin_epoch()
    for index in range(5):
        assert worker.next_item()[0, 0] == index
    with pytest.raises(Error, match="ValueError: index five is broken"):
        worker.next_item()
    assert "index five is broken" in capfd.readouterr().err
    with pytest.raises(Error, match="index five is broken"):
        worker.begin_epoch()


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([], "The Dataset is empty"),
        (Numbers(3, 0, fail), "index five is broken"),
        (Numbers(3, 0, kill_self), "killed by signal 9"),
        (["text"], "type str"),
    ],
)
def test_a_worker_that_cannot_start_is_an_error(start: Any, dataset: Any, message: str, capfd: Any) -> None:
    with pytest.raises(Error, match=f"(?s)worker thread failed to start.*{message}"):
        start(dataset)


def test_a_data_set_that_cannot_be_sent_says_what_helps(start: Any) -> None:
    with pytest.raises((AttributeError, TypeError), match=r"(?i)pickle") as caught:
        start(Numbers(3, 1, lambda: None), Sharing.FORK_SERVER)
    assert any("SharingStrategy.Fork" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_is_an_error_and_no_hang(start: Any, kill: signal.Signals) -> None:
    worker = start(Numbers(1000))
    pid = worker.pid
    worker.begin_epoch()
    worker.next_item()
    os.kill(pid, kill)
    with pytest.raises(Error, match=rf"worker process {pid} .*killed by signal {kill.value}"):
        epoch_of(worker)
    assert not is_running(pid)


def test_an_interrupt_does_not_end_the_worker(start: Any) -> None:
    worker = start(Numbers(5))
    os.kill(worker.pid, signal.SIGINT)
    assert epoch_of(worker) == [[index, 0] for index in range(5)]


def test_terminating_ends_the_process_and_leaves_items_readable(start: Any) -> None:
    worker = start(Numbers(5))
    worker.begin_epoch()
    item = worker.next_item()
    pid = worker.pid
    worker.terminate()
    worker.terminate()
    assert not is_running(pid)
    assert item[0].tolist() == [0, 0]
    with pytest.raises(Error, match="was terminated"):
        worker.next_item()


def test_terminating_does_not_wait_for_a_data_set_that_hangs(start: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("tremula.frontends.torch.data.prefetch._POLITE_EXIT_SECONDS", 0.2)
    worker = start(Numbers(5, 2, hang), early_preload=True)
    pid = worker.pid
    worker.terminate()
    assert not is_running(pid)


def test_a_fork_of_the_consumer_does_not_end_the_worker(start: Any) -> None:
    worker = start(Numbers(5))
    child = os.fork()
    if child == 0:
        worker.terminate()
        os._exit(0)
    os.waitpid(child, 0)
    assert epoch_of(worker) == [[index, 0] for index in range(5)]


def test_nothing_is_left_in_shared_memory(start: Any) -> None:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        pytest.skip("no /dev/shm to look at")
    mine = f"torch_{os.getpid()}_"
    worker = start(Numbers(1000, rows=100))
    pid = worker.pid
    os.kill(pid, signal.SIGKILL)
    worker.terminate()
    gc.collect()
    left = [entry.name for entry in folder.iterdir() if entry.name.startswith((mine, f"torch_{pid}_"))]
    assert left == []


SCRIPT = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from test_prefetch import Numbers
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings
worker = PrefetchWorker(Numbers(5), WorkerSettings(), Sharing.FORK)
worker.begin_epoch()
worker.next_item()
sys.stdout.write(f"{{worker.pid}}\\n")
sys.stdout.flush()
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
    ids=["exits", "is interrupted", "is killed"],
)
def test_the_worker_ends_with_its_consumer(ending: str, code: int) -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parent), ending=ending)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    pid = int(done.stdout)
    assert wait_for(lambda: not is_running(pid))
