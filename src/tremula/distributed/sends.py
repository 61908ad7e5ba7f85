"""Messages that an instance has sent and that have not arrived yet.

Gloo says that a message has arrived only to a thread that waits for it, so a thread of its own waits, in the order of
the messages. It also keeps the memory of each message until then.
"""

from __future__ import annotations

import contextlib
import datetime
import queue
import threading
import time
from typing import Any

#: an instance that is not interested yet is not missing: gloo would close the connection after its own limit
_NO_LIMIT = datetime.timedelta(days=365)
_PAUSE_SECONDS = 0.005


class Sends:
    """The messages of one group."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._begun = 0
        self._done = 0

    def add(self, memory: Any, work: Any) -> None:
        """Keep `memory` until gloo's `work` is complete."""
        with self._lock:
            self._begun += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._wait, name="tremula-sends", daemon=True)
                self._thread.start()
        self._queue.put((memory, work))

    @property
    def under_way(self) -> bool:
        """Whether there are messages that have not arrived."""
        return self._done < self._begun

    def flush(self, seconds: float) -> None:
        """Wait until all messages have arrived, or their receivers are gone, but no longer than `seconds`."""
        stop = time.monotonic() + seconds
        while self.under_way and time.monotonic() < stop:
            time.sleep(_PAUSE_SECONDS)

    def _wait(self) -> None:
        while True:
            memory, work = self._queue.get()
            # an error says that the receiver is gone; whoever needs an answer of it finds that out
            with contextlib.suppress(RuntimeError):
                work.wait(_NO_LIMIT)
            self._done += 1
            del memory, work
