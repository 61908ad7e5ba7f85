"""Records this process: a thread of its own takes what `points` has appended and writes it to the file, four times a
second. Recording ends with the process, after the duration in PVTI_OPTIONS, or when the file is as large as allowed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import sqlite3
import sys
import threading
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any

from tremula.settings.environment import env
from tremula.settings.values import TraceOptions
from tremula.trace import channels, points

if TYPE_CHECKING:
    from tremula.trace.collector import Collector
    from tremula.trace.store import Store

#: seconds between two writes
_INTERVAL = 0.25

_lock = threading.RLock()
_options = TraceOptions(enable=False)
_writer: Writer | None = None
_hooked = False


class Writer:
    """The file of this process and the thread that writes it."""

    def __init__(self, options: TraceOptions) -> None:
        self._options = options
        self._origin = perf_counter_ns()
        self._wall = time_ns()
        self._limit = env.get("TREMULA_TRACE_MEGABYTES") * 2**20
        self._raw = 0
        self._store: Store | None = None
        self._collector: Collector | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tremula trace", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_INTERVAL):
            with _lock:
                if self._over.is_set():
                    return
                spent = (perf_counter_ns() - self._origin) / 1e9
                if self._options.duration and spent >= self._options.duration:
                    self.finish("the duration in PVTI_OPTIONS is over")
                else:
                    self.write()

    def path(self) -> Path:
        """The name of the file, which is made if it is not there."""
        self._open()
        return self._store.path if self._store is not None else Path()

    def _open(self) -> None:
        if self._store is None and not self._over.is_set():
            from tremula.trace.batch import Batch
            from tremula.trace.collector import Collector
            from tremula.trace.store import Store

            process = _process(self._wall, self._origin)
            first, _ = Batch(1, perf_counter_ns() - self._origin, process).pack()
            try:
                self._store = Store(Path(self._options.directory), os.getpid(), first)
            except (OSError, sqlite3.Error) as problem:
                self._give_up(problem)
                return
            self._collector = Collector(self._origin)

    def write(self, last: str = "") -> None:
        """Write what waits; `last` says why nothing will follow."""
        self._open()
        if self._store is None or self._collector is None:
            return
        waiting = points.waiting
        try:
            for batch in self._collector.batches(waiting, perf_counter_ns(), last):
                content, raw = batch.pack()
                self._store.add(batch.number, content)
                self._raw += raw
        except Exception as problem:  # a trace must not take the program down with it
            self._give_up(problem)
            return
        if not last and self._is_full():
            from tremula import log

            self.finish("the file is as large as allowed")
            log.warn_once(
                f"trace limit: {self._store.path}",
                f"The trace {self._store.path} is as large as allowed, and ends here. Record less (`channels`, "
                "`duration` in PVTI_OPTIONS), or raise TREMULA_TRACE_MEGABYTES.",
            )

    def _is_full(self) -> bool:
        from tremula.trace.schema import MOST_RAW_BYTES

        return self._store is not None and (
            self._store.size > self._limit or self._raw > MOST_RAW_BYTES * 3 // 4
        )

    def finish(self, reason: str) -> None:
        """Write the rest, close the file and record no more."""
        channels.record(False)
        waiting = points.waiting
        if self._store is not None or waiting.samples or any(row.records for row in waiting.rows):
            self.write(reason)
        self._over.set()
        if self._store is not None:
            self._store.close()
        points.forget()

    def _give_up(self, problem: Exception) -> None:
        from tremula import log
        from tremula.atomic_files import cannot_write

        channels.record(False)
        self._over.set()
        points.forget()
        where = self._store.path if self._store is not None else Path(self._options.directory)
        text = (
            cannot_write(where, problem)
            if isinstance(problem, OSError)
            else f"{where} cannot be written ({type(problem).__name__}: {problem})."
        )
        log.warn_once(f"trace: {text}", f"The trace ends here: {text} The program runs on.")


def _process(wall_ns: int, origin_ns: int) -> dict[str, Any]:
    """What the first batch says about this process."""
    from tremula.trace.numbering import clean

    name = os.path.basename(sys.argv[0] if getattr(sys, "argv", None) else "") or "python"
    return {
        "pid": os.getpid(),
        "name": clean(name)[:300],
        "host": clean(platform.node())[:300],
        "instance": _instance(),
        "wall_ns": wall_ns,
        "clock": _clock(),
        "clock_ns": origin_ns,
    }


def _instance() -> int:
    try:
        return int(os.environ.get("OMPI_COMM_WORLD_RANK") or -1)
    except ValueError:
        return -1


def _clock() -> str:
    """What processes have in common whose `perf_counter_ns` is the same clock: the boot of a Linux host."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(b"tremula trace " + boot).hexdigest()[:16]


def switch_on(options: TraceOptions) -> None:
    """Begin to record, if the options say so. The file is made when there is something to record."""
    global _options, _hooked
    if not options.enable:
        return
    with _lock:
        _options = options
        if not _hooked:
            _hooked = True
            atexit.register(close)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)
        points.on_first_point = _start
        channels.record(True, frozenset(options.channels))


def _start() -> None:
    """Start the thread that writes; called for the first points."""
    global _writer
    with _lock:
        points.on_first_point = points._nothing
        if _writer is None and channels.recording():
            _writer = Writer(_options)
            _writer.start()
            multiprocessing: Any = sys.modules.get("multiprocessing.process")
            if multiprocessing is not None and multiprocessing.parent_process() is not None:
                # such a process ends without the functions of `atexit`
                from multiprocessing.util import Finalize

                Finalize(None, close, exitpriority=1)


def _before_fork() -> None:
    # no transaction may be open in two processes
    _lock.acquire()


def _after_fork() -> None:
    _lock.release()


def _forked() -> None:
    """In a new process: what waits belongs to the other one, and so does the file."""
    global _lock, _writer
    _lock = threading.RLock()
    _kept.append(_writer)
    _writer = None
    points.forget()
    if channels.recording():
        points.on_first_point = _start


#: writers of parent processes: their files stay open, and are never written, in this one
_kept: list[Writer | None] = []


def current_file() -> str:
    """The name of the file of this process; "" while nothing is recorded."""
    _start()
    with _lock:
        if _writer is None or not (channels.recording() or _writer._store is not None):
            return ""
        return str(_writer.path())


def flush() -> None:
    """Write what waits now."""
    with _lock:
        if _writer is not None and channels.recording():
            _writer.write()


def close() -> None:
    """Write the rest and record no more."""
    global _writer
    with _lock:
        found, _writer = _writer, None
        if found is not None and not found._over.is_set():
            found.finish("the process ended")
        channels.record(False)


def restart(options: TraceOptions) -> None:
    """End the trace and begin another one."""
    close()
    switch_on(options)
