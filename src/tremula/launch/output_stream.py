"""The output streams of a run, with several writers and a reader that may exit early.

If stdout and stderr are the same terminal or file, they share one stream, so that an unfinished line of one (a
progress bar, a prompt) is ended before the other writes.
"""

from __future__ import annotations

import os
import select
import threading


class OutputStream:
    """A stream to write to; `broken` when its reader has exited."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.RLock()
        self._open_by: object | None = None
        self.broken = False

    def left_open_by(self, owner: object) -> bool:
        """Whether the last line is `owner`'s and not finished."""
        with self._lock:
            return self._open_by is owner

    def write(self, data: bytes, owner: object, *, finished: bool = True) -> None:
        """Write lines; an unfinished line of another owner is ended first."""
        with self._lock:
            if self._open_by is not None and self._open_by is not owner:
                data = b"\n" + data
            self._open_by = None if finished else owner
            self._write(data)

    def end_line(self) -> None:
        """End a line that was left open."""
        with self._lock:
            if self._open_by is not None:
                self._open_by = None
                self._write(b"\n")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.broken:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], 1.0)
            except OSError:  # closed by its reader, or never open: the run may go on without
                self.broken = True


def standard_streams() -> tuple[OutputStream, OutputStream]:
    """stdout and stderr; the same one twice where they are the same place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: before something else takes its number, nothing takes its place
            os.open(os.devnull, os.O_RDWR)
    out = OutputStream(1)
    try:
        same = os.path.samestat(os.fstat(1), os.fstat(2))
    except OSError:
        same = False
    return out, out if same else OutputStream(2)
