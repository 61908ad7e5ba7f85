"""Locks on entries: one process makes an entry and the others wait. The system frees the lock of a dead process.

Lock files lie in the user's private folder, not in the cache, which holds entries only. Beside each, a note says
who holds it, so that a waiting process can report it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tremula import log, private_files
from tremula.private_files import Untrusted

#: seconds before the first report of a wait, between calls of the callback, and between log lines
FIRST_REPORT = 2.0
STEP = 1.0
REPEAT = 30.0
#: unused lock files are removed after so many seconds
UNUSED = 7 * 86400.0

_SUFFIX = ".lock"
_MAX_NOTE = 1000


@dataclass(frozen=True)
class Waiting:
    """A wait in progress."""

    seconds: float  #: how long it has lasted
    pid: int | None = None  #: the process that holds the lock, or None if it left no note
    host: str | None = None  #: its machine, where that is another one

    @property
    def holder(self) -> str:
        """The holder in words."""
        who = "another process" if self.pid is None else f"process {self.pid}"
        return f"{who} on {self.host}" if self.host else who


@contextlib.contextmanager
def held(
    path: Path, on_wait: Callable[[Waiting], None] | None = None, timeout: float | None = None
) -> Iterator[bool]:
    """Hold the lock `path` (its folder is made). Gives False when it could not be had; then nothing is locked.

    `on_wait` is called about once a second while waiting is felt; by default, log lines. Waiting is given up after
    `timeout` seconds.
    """
    lock = _acquired(path, on_wait or _Narrator(), timeout)
    if lock is None:
        yield False
        return
    note = path.with_suffix(".holder")
    try:
        _write_note(note)
        with contextlib.suppress(OSError):
            os.utime(path)
        yield True
    finally:
        with contextlib.suppress(OSError):
            note.unlink()
        lock.release()


def _acquired(path: Path, on_wait: Callable[[Waiting], None], timeout: float | None) -> FileLock | None:
    started = time.monotonic()
    try:
        private_files.make_code_directory(path.parent)
        os.close(private_files.open_to_update(path))
        lock = FileLock(path, mode=0o600)
        pause = FIRST_REPORT
        while True:
            waited = time.monotonic() - started
            if timeout is not None:
                pause = max(0.0, min(pause, timeout - waited))
            try:
                lock.acquire(timeout=pause, poll_interval=0.05)
                return lock
            except Timeout:
                waited = time.monotonic() - started
                if timeout is not None and waited >= timeout:
                    return None
                on_wait(_read_note(path.with_suffix(".holder"), waited))
                pause = STEP
    except (OSError, NotImplementedError, Untrusted) as problem:
        log.warn_once(
            f"cache lock {path.parent}",
            f"Files in {path.parent} cannot be locked ({problem}). If several processes compile the same model "
            "at once, each compiles it separately.",
        )
        return None


class _Narrator:
    """Says in the log that the program waits, and for whom: once as a warning, then now and again."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, waiting: Waiting) -> None:
        if waiting.seconds < self._next:
            return
        layer = log.layer("tremula")
        say = layer.info if self._next else layer.warning
        say("waiting for %s, which compiles the same model (%.0f s so far)", waiting.holder, waiting.seconds)
        self._next = waiting.seconds + REPEAT


def sweep(directory: Path) -> int:
    """Remove lock files that are free and unused for days; gives how many."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(directory) as listing:
        for each in listing:
            if not each.name.endswith(_SUFFIX):
                continue
            with contextlib.suppress(OSError, Timeout, NotImplementedError):
                if time.time() - each.stat(follow_symlinks=False).st_mtime > UNUSED:
                    with FileLock(each.path, timeout=0):
                        os.unlink(each.path)
                        removed += 1
    return removed


def _write_note(path: Path) -> None:
    with contextlib.suppress(OSError, Untrusted):
        text = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        with os.fdopen(private_files.open_to_update(path), "wb") as file:
            file.truncate()
            file.write(text.encode())


def _read_note(path: Path, seconds: float) -> Waiting:
    try:
        note = json.loads(private_files.read(path, _MAX_NOTE))
        pid, host = note["pid"], note["host"]
    except (OSError, Untrusted, ValueError, TypeError, KeyError, RecursionError):
        return Waiting(seconds)
    if type(pid) is not int or not isinstance(host, str) or not host.isprintable():
        return Waiting(seconds)
    return Waiting(seconds, pid, host if host != socket.gethostname() else None)
