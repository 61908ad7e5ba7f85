"""How both processes end: with each other, whichever goes first, and whatever it was doing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]

#: longer than the second that is promised: the machine may be loaded
PATIENCE = 20.0


def children(pid: int) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(each.name))
    return found


def gone(pid: int) -> bool:
    """Whether a process is not there, or only as an entry for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def started(kit: Any, how: str) -> tuple[subprocess.Popen[str], int]:
    """A program that says it is ready, and the process beside it."""
    process = subprocess.Popen(
        [kit.program("ends"), how],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kit.environment,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    (server,) = children(process.pid)
    return process, server


@pytest.mark.parametrize("how", ["run", "recording", "callback", "idle"])
def test_the_server_ends_with_the_program(kit: Any, how: str) -> None:
    process, server = started(kit, how)
    process.kill()
    process.communicate()
    wait_until(lambda: gone(server))


@pytest.mark.parametrize("how", ["run", "recording", "callback", "idle"])
def test_the_program_ends_with_the_server(kit: Any, how: str) -> None:
    process, server = started(kit, how)
    os.kill(server, signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    if how == "run":  # it can say what happened
        assert process.returncode == 5
        assert "signal 9" in out
    elif how != "recording":
        assert "has ended" in err


def test_exit_ends_the_server_in_order(kit: Any) -> None:
    process, server = started(kit, "exit")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert gone(server)


def test_an_exception_of_a_callback_reaches_the_caller(kit: Any) -> None:
    done = kit.run(kit.program("ends"), "throw")
    assert (done.returncode, done.stdout) == (4, "thrown by the callback\n")


def test_a_missing_python_is_named(kit: Any) -> None:
    done = kit.run(kit.program("ends"), TREMULA_PYTHON="/nowhere/python")
    assert done.returncode != 0
    assert "TREMULA_PYTHON" in done.stderr
