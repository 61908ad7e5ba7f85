"""Processes that belong to a run or a case: those with its mark in their environment. Linux only."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def marked(mark: str) -> list[int]:
    """The ids of processes with the mark, without this one and without those that have ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def left(mark: str, seconds: float) -> list[str]:
    """Command lines of the processes with the mark that are still there after some time; they are killed then."""
    deadline = time.monotonic() + seconds
    while there := marked(mark):
        if time.monotonic() > deadline:
            return [_ended(process) for process in there]
        time.sleep(0.02)
    return []


def _ended(process: int) -> str:
    words = b""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes()
        os.kill(process, signal.SIGKILL)
    return words.replace(b"\0", b" ").decode(errors="replace")[:200] or str(process)
