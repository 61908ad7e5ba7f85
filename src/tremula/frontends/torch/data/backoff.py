"""Polling for another process: often at first, then more and more rarely.

Being woken through a pipe would cost the other process a system call that, on a virtual machine, can take 0.1 ms,
more than loading a small batch. Polling costs only the waiting process; after a long wait the next one
begins with longer pauses.
"""

from __future__ import annotations

import os
import time

#: Waits that are expected to be this short are not slept through.
_EAGER_SECONDS = 1e-4
#: A wait longer than this says that the next one will probably be long as well.
_SHORT_WAIT_SECONDS = 5e-4


class Backoff:
    """The pauses of a process that waits, again and again, for the same kind of thing.

    They last `shortest` to `longest` seconds: `growth` is the part of the time waited so far.
    """

    def __init__(self, shortest: float, longest: float, growth: float) -> None:
        self._shortest = shortest
        self._longest = max(longest, shortest)
        self._growth = growth
        self._start: float | None = None
        self._eager = True

    def pause(self) -> float:
        """Let some time pass; returns the seconds waited before this pause."""
        now = time.perf_counter()
        if self._start is None:
            self._start = now
        waited = now - self._start
        if self._eager and waited < _EAGER_SECONDS:
            os.sched_yield()
        else:
            time.sleep(min(max(waited * self._growth, self._shortest), self._longest))
        return waited

    def end(self) -> float:
        """The wait is over; returns the seconds that it took."""
        if self._start is None:
            return 0.0
        waited = time.perf_counter() - self._start
        self._start = None
        self._eager = waited < _SHORT_WAIT_SECONDS
        return waited
