"""Finds, ends and reaps the remaining processes of a run, in any session.

The launcher makes itself the reaper of all its descendants (Linux), so that a process whose parent has ended becomes a
child of the launcher. On other systems only the instances and their process groups are ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container
from pathlib import Path

_SET_NAME, _SET_CHILD_SUBREAPER = 15, 36
#: time that remaining processes have to end after they were asked to
_GRACE_SECONDS = 1.0
_KILL_SECONDS = 3.0
_POLL_SECONDS = 0.02


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def rename(name: str) -> None:
    """Give this process another name in lists of processes, at most 15 characters."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SET_NAME, name.encode(), 0, 0, 0)


def descendants() -> list[int]:
    """All living processes below this one."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        # the name in brackets may hold anything, brackets too
        state, parent = text[text.rfind(b")") + 2 :].split()[:2]
        if state not in (b"Z", b"X"):
            parents.setdefault(int(parent), []).append(int(folder.name))
    found: list[int] = []
    heads = [os.getpid()]
    while heads:
        below = parents.get(heads.pop(), [])
        found += below
        heads += below
    return found


def reap_adopted(ours: Container[int]) -> None:
    """Reap ended processes that were adopted; `ours` are waited for elsewhere."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in ours:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(ended.si_pid, os.WNOHANG)


def end_descendants(*, grace: float = _GRACE_SECONDS) -> int:
    """End all processes below this one: ask them first, and kill them after `grace` seconds. Returns their number."""
    first = descendants()
    if not first:
        reap_adopted(())
        return 0
    if grace:
        _signal(first, signal.SIGTERM)
        _wait(grace)
    deadline = time.monotonic() + _KILL_SECONDS
    while (left := descendants()) and time.monotonic() < deadline:
        _signal(left, signal.SIGKILL)  # again and again: one that forks may be quicker than the list
        _wait(_POLL_SECONDS)
    reap_adopted(())
    return len(first)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _wait(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and descendants():
        reap_adopted(())
        time.sleep(_POLL_SECONDS)
