"""Host traces: processes, their threads, and what these did as a tree of events."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pva.sequences import Items, PrintLength
from pva.tables import Table
from tremula.errors import Error


class Event:
    """Something that took time on a thread. Times are in microseconds."""

    __slots__ = ("_id", "_trace")

    def __init__(self, trace: _Trace, number: int) -> None:
        self._trace = trace
        self._id = number

    @property
    def label(self) -> str:
        """The label of the event."""
        return str(self._trace.file.texts[self._trace.file.events.label[self._id]])

    @property
    def channel(self) -> str:
        """The channel that it was recorded on."""
        return str(self._trace.file.channels[self._trace.file.events.channel[self._id]])

    @property
    def timestamp(self) -> float:
        """When it began, since 1970 (UTC)."""
        return float(self._trace.file.process.start_us + self._trace.file.events.start_us[self._id])

    @property
    def duration(self) -> float:
        """How long it took."""
        events = self._trace.file.events
        return round(float(events.end_us[self._id] - events.start_us[self._id]), 3)

    @property
    def metadata(self) -> str:
        """The metadata from the program as JSON text, or empty."""
        return self._trace.file.metadata(int(self._trace.file.events.metadata[self._id])) or ""

    def children(self) -> Items[Event]:
        """The events directly within it, in the order of their start."""
        return self._trace.events(np.asarray(self._trace.file.children(self._id), dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._id == other._id and self._trace is other._trace

    def __hash__(self) -> int:
        return hash((id(self._trace), self._id))

    def __repr__(self) -> str:
        return f"Event({self.label!r}, {self.channel!r}, {self.duration:,.0f} us)"


class Thread:
    """A thread of a process; the modelled device is one as well, with a name that says so."""

    __slots__ = ("_id", "_trace")

    def __init__(self, trace: _Trace, number: int) -> None:
        self._trace = trace
        self._id = number

    @property
    def tid(self) -> int:
        """The system's id of the thread."""
        return int(self._trace.file.threads[self._id].tid)

    @property
    def name(self) -> str:
        """The name."""
        return str(self._trace.file.threads[self._id].name)

    @property
    def events(self) -> Table[Event]:
        """The outermost events in the order of their start. The others are their children."""
        mine = (self._trace.file.events.thread == self._id) & (self._trace.file.events.parent < 0)
        return self._trace.events(np.flatnonzero(mine).astype(np.int64))

    @property
    def allEvents(self) -> Table[Event]:
        """All its events, in the order of their start, an outer one before those within it."""
        return self._trace.events(np.flatnonzero(self._trace.file.events.thread == self._id).astype(np.int64))

    def __repr__(self) -> str:
        return f"Thread({self.tid}, {self.name!r})"


class Process:
    """A process and its threads."""

    __slots__ = ("_trace",)

    def __init__(self, trace: _Trace) -> None:
        self._trace = trace

    @property
    def pid(self) -> int:
        """The system's id of the process."""
        return int(self._trace.file.process.pid)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._trace.file.process.name)

    @property
    def threads(self) -> Items[Thread]:
        """The threads that have events."""
        return Items(self._trace.busy, lambda number: Thread(self._trace, number), self._trace.print_length)

    def thread(self, tid: int) -> Thread:
        """The thread with this number."""
        for number, each in enumerate(self._trace.file.threads):
            if each.tid == tid:
                return Thread(self._trace, number)
        raise Error(f"The process {self.pid} has no thread {tid}.", type="pva_error")

    def __repr__(self) -> str:
        return f"Process({self.pid}, {self.name!r})"


class _Trace:
    """Data shared by the objects of one trace."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from tremula.trace.reader import TraceFile  # reports do not need it

        self.file = TraceFile(os.fspath(path))
        self.print_length = PrintLength()
        self.busy: NDArray[np.int64] = np.unique(self.file.events.thread).astype(np.int64)

    def events(self, chosen: NDArray[np.int64]) -> Table[Event]:
        """Events as a list."""
        file, events = self.file, self.file.events

        def texts(names: Any, column: NDArray[Any]) -> list[str]:
            return [names[each] for each in column.tolist()]

        return Table(
            chosen,
            lambda number: Event(self, number),
            self.print_length,
            {
                "label": lambda: texts(file.texts, events.label),
                "channel": lambda: texts(file.channels, events.channel),
                "timestamp": lambda: file.process.start_us + events.start_us,
                "duration": lambda: events.end_us - events.start_us,
                "thread": lambda: events.thread,
                "depth": lambda: events.depth,
            },
        )


class Trace:
    """A trace file. It contains one process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._trace = _Trace(path)

    @property
    def processes(self) -> Items[Process]:
        """The processes."""
        return Items(range(1), lambda _: Process(self._trace), self._trace.print_length)

    def process(self, pid: int) -> Process:
        """The process with this number."""
        found = Process(self._trace)
        if found.pid != pid:
            raise Error(f"The trace has no process {pid}; it has {found.pid}.", type="pva_error")
        return found

    def listPrintLength(self, length: int) -> None:
        """Set how many items the text of a list shows."""
        self._trace.print_length.items = max(0, int(length))

    def __repr__(self) -> str:
        return f"Trace({os.fspath(self._trace.file.path)!r})"
