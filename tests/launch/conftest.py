"""`poprun` as users start it: a process of its own, with programs that the tests write."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tremula.distributed.protocol import LAUNCHER


@pytest.fixture(autouse=True)
def no_launcher_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may be run by anything; poprun is to find an ordinary environment, and one Bow-2000."""
    for name in (
        LAUNCHER,
        "TREMULA_RESERVATION",
        "TREMULA_OWN_SYSTEM",
        "TREMULA_VIRTUAL_IPUS",
        "POPTORCH_IPU_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in (
        "IPUOF_VIPU_API_PARTITION_ID",
        "IPUOF_VIPU_API_HOST",
        "POPLAR_TARGET_OPTIONS",
        "PYTHONUNBUFFERED",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREMULA_SYSTEM", "bow2000")


class Started:
    """A poprun that runs, and the processes that belong to it."""

    def __init__(self, words: list[str], mark: str, process_group: int | None) -> None:
        self._mark = mark
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tremula.launch", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=process_group,
        )

    def finish(self, timeout: float = 60) -> tuple[int, str, str]:
        """Its exit code and what it wrote, without what was read before."""
        with ThreadPoolExecutor(2) as readers:
            out, err = (
                readers.submit(pipe.read) for pipe in (self.process.stdout, self.process.stderr) if pipe
            )
            return self.process.wait(timeout), out.result(timeout), err.result(timeout)

    def left(self) -> list[int]:
        """Processes with the mark in their command line or environment that are still there, without poprun."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                known = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                if self._mark.encode() in known and int(folder.name) != self.process.pid:
                    found.append(int(folder.name))
        return found

    def all_gone(self, seconds: float) -> bool:
        """Whether nothing is left within some time."""
        deadline = time.monotonic() + seconds
        while self.left():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Started]]:
    """Starts poprun with options, then `python <program>`; nothing of it outlives the test."""
    mark = f"launch-test-{os.getpid()}-{tmp_path.name}"
    monkeypatch.setenv("LAUNCH_TEST_MARK", mark)
    started: list[Started] = []

    def begin(
        *words: str | Path,
        program: str = "",
        arguments: tuple[str, ...] = (),
        process_group: int | None = None,
    ) -> Started:
        command = [str(word) for word in words]
        if program:
            path = tmp_path / "program.py"
            path.write_text(program)
            command += [sys.executable, str(path), *arguments]
        started.append(Started(command, mark, process_group))
        return started[-1]

    yield begin
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        for pid in each.left():
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        for pipe in (each.process.stdout, each.process.stderr):
            if pipe is not None:
                pipe.close()
        each.process.wait(10)


@pytest.fixture
def poprun(start: Callable[..., Started]) -> Callable[..., tuple[int, str, str]]:
    """Runs poprun to its end: exit code, stdout, stderr."""

    def run(*words: str | Path, program: str = "", arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        return start(*words, program=program, arguments=arguments).finish()

    return run
