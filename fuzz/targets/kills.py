"""SIGKILL at random moments: writers of files, holders of virtual IPUs, instances of poprun and poprun itself.

A file is absent or one whole version, at least the last that its writer finished. A virtual IPU can be taken at once.
A run leaves no process, and its IPUs are free.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz import processes
from fuzz.target import Events, LeftBehindError

if TYPE_CHECKING:
    from fuzz.writers import Writer

#: one of so many cases kills a run of poprun; of the others, every third a holder
_INSTANCES_EVERY = 16
_HOLDERS_EVERY = 3
#: a process that was started anew, not forked, is one of so many holders
_FRESH_EVERY = 8
#: the system of the cases has so many IPUs
_SYSTEM, _IPUS = "bow2000", 4
_WRITING_SECONDS = 0.15
_HOLDING_SECONDS = 0.03
_LAUNCHING_SECONDS = 3.0
_GONE_SECONDS = 20.0

_HOLDER = """
import sys
from tremula.machine.attach import Attachment
held = Attachment(int(sys.argv[1]), hardware=True)
held.attach()
print("attached", flush=True)
sys.stdin.read()
"""

#: has a process of its own that left its session, and an IPU
_INSTANCE = """
import os, pathlib, subprocess, sys, time
from tremula.machine.attach import Attachment
subprocess.Popen(["sleep", "600"], start_new_session=True)
held = Attachment(1, hardware=True)
held.attach()
place = pathlib.Path(sys.argv[1]) / os.environ["RANK"]
place.with_suffix(".part").write_text(str(os.getpid()))
place.with_suffix(".part").rename(place)
time.sleep(600)
"""


def make(folder: Path) -> None:
    """A saved program, for its writer, and the program of the instances."""
    from fuzz.targets.answers import make_programs

    make_programs(folder)
    (folder / "instance.py").write_text(_INSTANCE)


def begin(folder: Path) -> Callable[[int, random.Random], str]:
    """Writers and holders are forked from this process, which has imported everything."""
    from fuzz.writers import writers

    os.environ["TREMULA_SYSTEM"] = _SYSTEM
    kinds = writers(folder / "valid" / "program")
    place = folder / "killed"

    def attempt(number: int, rng: random.Random) -> str:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
        if number % _INSTANCES_EVERY == _INSTANCES_EVERY - 1:
            return kill_run(folder / "valid" / "instance.py", place, rng)
        if number % _HOLDERS_EVERY == _HOLDERS_EVERY - 1:
            return kill_holder(rng)
        # a writer of each kind in turn, whatever the other cases take out
        return kill_writer(kinds[(number - number // _HOLDERS_EVERY) % len(kinds)], place, rng)

    return attempt


def kill_writer(kind: Writer, place: Path, rng: random.Random) -> str:
    """Kill a process that writes versions 1, 2, 3, ..."""

    def work(tell: Callable[[object], None]) -> None:
        for version in range(1, 1_000_000):
            kind.write(place, version)
            tell(version)

    with _forked(work) as told:
        time.sleep(rng.uniform(0, _WRITING_SECONDS))
        if rng.random() < 0.3:
            kind.read(place)  # while it is written
            time.sleep(rng.uniform(0, _WRITING_SECONDS) / 10)
    finished = int(told[-1]) if told else 0
    found = kind.read(place)
    assert found in ((finished, finished + 1) if finished else (None, 1)), (
        f"{kind.name}: version {found} is there after {finished} were finished"
    )
    unfinished = [each.name for each in place.iterdir() if each.name.startswith(".") and ".part" in each.name]
    results = len(list(place.iterdir())) - len(unfinished)
    assert results == (0 if found is None else 1), f"{kind.name}: {sorted(os.listdir(place))}"
    kind.write(place, finished + 2)
    assert kind.read(place) == finished + 2, f"{kind.name}: what was left behind is in the way"
    return f"writers of {kind.name}"


def kill_holder(rng: random.Random) -> str:
    """Kill a process that takes IPUs, holds them and gives them back; then take them all."""
    ipus = rng.choice((1, 2, 4))
    if rng.randrange(_FRESH_EVERY) == 0:
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(ipus)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"attached\n"
            holder.kill()
    else:
        with _forked(lambda tell: _hold(ipus, tell)):
            time.sleep(rng.uniform(0, _HOLDING_SECONDS))
    take_all()
    return "holders"


def _hold(ipus: int, tell: Callable[[object], None]) -> None:
    from tremula.machine.attach import Attachment

    held = Attachment(ipus, hardware=True)
    for count in range(1000):  # fewer lines than a pipe holds
        held.attach()
        tell(count)
        time.sleep(0.001)
        held.detach()
    time.sleep(60)


def start_run(program: Path, place: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start two instances of a program; what they print is in the file `output`."""
    command = [sys.executable, "-m", "tremula.launch", "--num-instances", "2", "--num-replicas", "2"]
    with open(place / "output", "wb") as output:
        return subprocess.Popen(
            [*command, sys.executable, str(program), str(place)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "FUZZ_CASE": mark},
        )


def kill_run(program: Path, place: Path, rng: random.Random) -> str:
    """Kill poprun, its worker, or one of its two instances."""
    mark = f"fuzz-{secrets.token_hex(8)}"
    run = start_run(program, place, mark)
    victim = rng.choice(("poprun", "worker", "instances"))
    if victim == "poprun":
        time.sleep(rng.uniform(0, _LAUNCHING_SECONDS))
        run.kill()
        expected = -signal.SIGKILL
    elif victim == "worker":
        worker = _worker(run)
        time.sleep(rng.uniform(0, _LAUNCHING_SECONDS))
        os.kill(worker, signal.SIGKILL)
        expected = 128 + signal.SIGKILL
    else:
        os.kill(instance_process(place / str(rng.randrange(2)), run), signal.SIGKILL)
        expected = 128 + signal.SIGKILL
    code: int | None = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = run.wait(_GONE_SECONDS)
    left = processes.left(mark, _GONE_SECONDS)
    if left:
        raise LeftBehindError(f"{victim} killed: {'; '.join(left)}")
    said = (place / "output").read_text(errors="replace")[-200:]
    assert code == expected, f"{victim} killed: poprun ended with {code}: {said}"
    take_all()
    return victim


def _worker(run: subprocess.Popen[bytes]) -> int:
    """The process that does poprun's work."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.001)
    return int(found[0])


def instance_process(told: Path, run: subprocess.Popen[bytes]) -> int:
    """The process of an instance, once it has attached."""
    while not told.exists():
        assert run.poll() is None, (told.parent / "output").read_text(errors="replace")[-300:]
        time.sleep(0.01)
    return int(told.read_text())


def take_all() -> None:
    """Take all IPUs of the system; an Error says who holds one."""
    from tremula.machine.attach import Attachment

    mine = Attachment(_IPUS, hardware=True)
    mine.attach()
    mine.detach()


@contextlib.contextmanager
def _forked(work: Callable[[Callable[[object], None]], None]) -> Iterator[list[str]]:
    """A process that does `work`, killed when the context ends; gives the lines that it told."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            work(lambda what: os.write(writing, f"{what}\n".encode()) and None)
        except BaseException as problem:
            os.write(writing, f"! {type(problem).__name__}: {problem}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)
    told: list[str] = []
    try:
        yield told
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        with os.fdopen(reading) as lines:
            told += lines.read().splitlines()
    failed = [line for line in told if line.startswith("!")]
    assert not failed, failed[0]


KILLS = Events("kills", make, begin, batch=64)
