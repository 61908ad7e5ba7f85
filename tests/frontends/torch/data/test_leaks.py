"""However the use of an asynchronous loader ends, no process, descriptor, thread or shared memory is left."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from tremula.errors import Error
from tremula.frontends.torch.data.collate import BatchCollate
from tremula.frontends.torch.data.iteration import iterate
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings
from tremula.frontends.torch.data.wait_time import DataWait

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see what is left"),
]


class Samples(Dataset[torch.Tensor]):
    def __init__(self, length: int, broken: int | None = None, slow: float = 0.0) -> None:
        self.length, self.broken, self.slow = length, broken, slow

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == self.broken:
            raise ValueError("this sample is broken")
        time.sleep(self.slow)
        return torch.full((1000,), index)


class Loader(DataLoader[torch.Tensor]):
    def _get_iterator(self) -> Any:
        return iterate(self, BatchCollate(), DataWait())


def start(dataset: Samples, workers: int) -> PrefetchWorker:
    loader = Loader(dataset, batch_size=2, num_workers=workers, persistent_workers=workers > 0)
    return PrefetchWorker(loader, WorkerSettings(), Sharing.FORK)


def items(worker: PrefetchWorker) -> Iterator[Any]:
    worker.begin_epoch()
    with contextlib.suppress(StopIteration):
        while True:
            yield worker.next_item()


# The ways in which it ends


def used_up(workers: int) -> None:
    worker = start(Samples(10), workers)
    for _ in range(2):
        assert len(list(items(worker))) == 5
    worker.terminate()


def dropped_half_way(workers: int) -> None:
    worker = start(Samples(100), workers)
    next(items(worker))
    # what the owner of a worker arranges for
    worker.terminate()
    del worker


def left_and_used_again(workers: int) -> None:
    worker = start(Samples(20), workers)
    for _ in range(3):
        for item in items(worker):
            assert item[0, 0] == 0
            break
    assert len(list(items(worker))) == 10
    worker.terminate()


def worker_killed(workers: int) -> None:
    worker = start(Samples(1000), workers)
    pid = worker.pid
    assert pid is not None
    rest = items(worker)
    next(rest)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Error, match="killed by signal 9"):
        list(rest)


def exception(workers: int) -> None:
    worker = start(Samples(20, broken=9), workers)
    with pytest.raises(Error, match="this sample is broken"):
        list(items(worker))


def interrupted(workers: int) -> None:
    """Ctrl-C while waiting for an item; the loader can be used again."""
    worker = start(Samples(100, slow=0.05), workers)
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        list(items(worker))
    assert next(items(worker))[0, 0] == 0
    worker.terminate()


class Left(NamedTuple):
    descriptors: int
    threads: int
    processes: int
    shared_memory: list[str]


def what_is_there(session: int) -> Left:
    """What this process has, and the processes of its session (ours start none elsewhere)."""
    gc.collect()
    processes = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            processes += int(entry.read_text().rpartition(")")[2].split()[3]) == session
    files = [entry.name for entry in Path("/dev/shm").glob("torch_*")] if Path("/dev/shm").is_dir() else []
    mine = [name for name in files if name.startswith(f"torch_{os.getpid()}_")]
    return Left(len(os.listdir("/proc/self/fd")), threading.active_count(), processes, mine)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "use", [used_up, dropped_half_way, left_and_used_again, worker_killed, exception, interrupted]
)
def test_nothing_is_left(use: Callable[[int], None], workers: int, capfd: Any) -> None:
    # In a process of its own, with a session of its own: others may come and go meanwhile.
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            # The receiving half of torch's descriptor passing starts things once and keeps them.
            used_up(workers)
            before = what_is_there(os.getpid())
            use(workers)
            end = time.monotonic() + 20
            while (after := what_is_there(os.getpid())) != before and time.monotonic() < end:
                time.sleep(0.05)
            if after == before:
                code = 0
            else:
                sys.stderr.write(f"before {before}, after {after}\n")
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, capfd.readouterr().err


SCRIPT = """
import os, sys, time
sys.path.insert(0, {tests!r})
from test_leaks import Samples, items, start
worker = start(Samples(1000, slow=0.01), 2)
next(items(worker))
print(worker.pid, flush=True)
time.sleep(600)
"""


def group_members(leader: int) -> list[int]:
    members = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group = entry.read_text().rpartition(")")[2].split()[:3]
            if int(group) == leader and state != "Z":
                members.append(int(entry.parent.name))
    return members


def test_all_processes_end_when_the_consumer_is_killed() -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None
        leader = int(consumer.stdout.readline())
        assert len(group_members(leader)) == 3
        consumer.kill()
    end = time.monotonic() + 30
    while group_members(leader) and time.monotonic() < end:
        time.sleep(0.05)
    assert group_members(leader) == []


THREADS = """
import os, sys
import torch
from torch.utils.data import DataLoader, Dataset
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings

class Threads(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        torch.randn(300, 300) @ torch.randn(300, 300)  # would start OpenMP's threads
        torch.randn(1000, 1000).exp()
        return torch.tensor(torch.get_num_threads())

if __name__ == "__main__":
    assert torch.get_num_threads() == 2
    for sharing in (Sharing.FORK, Sharing.FORK_SERVER):
        for workers in (0, 1):
            worker = PrefetchWorker(DataLoader(Threads(), num_workers=workers), WorkerSettings(), sharing)
            print(sharing.name, workers, int(worker.next_item()))
            worker.terminate()
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="torch starts one thread on one core anyway")
def test_no_worker_computes_with_more_than_one_thread(tmp_path: Path) -> None:
    script = tmp_path / "threads_of_workers.py"
    script.write_text(THREADS)
    environ = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environ, timeout=100
    )
    assert done.returncode == 0, done.stderr
    found = [line.split() for line in done.stdout.splitlines()]
    assert found == [[name, workers, "1"] for name in ("FORK", "FORK_SERVER") for workers in ("0", "1")]
