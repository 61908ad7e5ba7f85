"""What a program calls: points in time. Each appends to a list and returns; `writer` empties the lists.

Nothing here takes a lock, formats or writes. A list belongs to one thread, which appends at its end while the writer
takes from its beginning; each of these operations is whole by itself.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from tremula.trace import channels
from tremula.trace.channels import Channel

#: (number of the channel, label, metadata, nanoseconds): nothing that the garbage collector has to follow
Begun = tuple[int, str, str | None, int]
#: what the list of a thread holds: a beginning (4 items), an end (3: the beginning itself, nanoseconds, metadata), an
#: end by name or a moment (5: the last says which), a whole span (6)
Record = tuple[Any, ...]

END, MOMENT = 0, 1

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Row:
    """The points of one thread, or of another row of the trace, that wait for the writer.

    Attributes:
        thread: the thread; None for other rows.
        tid: its number in the operating system; 0 for other rows.
        name: given by the program; "": that of the thread.
        records: what waits.
        spans: beginnings whose end has not been seen; the writer's.
    """

    __slots__ = ("name", "number", "records", "spans", "thread", "tid", "written_name")

    def __init__(self, thread: threading.Thread | None, tid: int, name: str = "") -> None:
        self.thread = thread
        self.tid = tid
        self.name = name
        self.records: list[Record] = []
        self.spans: list[Begun] = []
        self.number = -1
        self.written_name: str | None = None


class Waiting:
    """All that waits for the writer, in this process."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.local = threading.local()
        #: (series or heat map, nanoseconds, value or counts)
        self.samples: list[tuple[Any, int, Any]] = []

    def begin_row(self) -> Row:
        """The row of the calling thread, which has none yet."""
        row = Row(threading.current_thread(), threading.get_native_id())
        self.rows.append(row)
        self.local.row = row
        self.local.append = row.records.append
        on_first_point()
        return row


#: replaced in a forked process
waiting = Waiting()
_local = waiting.local


def _nothing() -> None:
    pass


#: called when a thread records its first point: starts the writer
on_first_point: Callable[[], None] = _nothing


def forget() -> None:
    """Drop all that waits: in a forked process it belongs to the other one."""
    global waiting, _local
    waiting = Waiting()
    _local = waiting.local


def _append() -> Callable[[Record], None]:
    """How to append to the list of the calling thread, for its first point."""
    found: Callable[[Record], None] = waiting.begin_row().records.append
    return found


def as_text(metadata: object) -> str:
    """Metadata as it is kept: a text stays, all else becomes JSON."""
    return metadata if isinstance(metadata, str) else json.dumps(metadata, default=str)


class Span:
    """A span of time as a context. Metadata is a text, or something that JSON knows."""

    __slots__ = ("_begun", "_channel", "_label", "_metadata")

    def __init__(self, channel: Channel, label: str, metadata: object = None) -> None:
        self._channel = channel
        self._label = label
        self._metadata = None if metadata is None or not channel.on else as_text(metadata)
        self._begun: Begun | None = None

    def __enter__(self) -> Span:
        if self._channel.on:
            try:
                append = _local.append
            except AttributeError:
                append = _append()
            self._begun = begun = (self._channel.number, self._label, self._metadata, perf_counter_ns())
            append(begun)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        begun = self._begun
        if begun is not None:
            now = perf_counter_ns()
            self._begun = None
            try:
                append = _local.append
            except AttributeError:
                append = _append()
            append((begun, now, None))


def begin(channel: Channel, label: str, metadata: object = None) -> None:
    """Begin a span that `end` ends."""
    if channel.on:
        try:
            append = _local.append
        except AttributeError:
            append = _append()
        append((channel.number, label, None if metadata is None else as_text(metadata), perf_counter_ns()))


def end(channel: Channel, label: str, metadata: object = None) -> None:
    """End the innermost span of this thread with this channel and label."""
    if channel.on:
        now = perf_counter_ns()
        try:
            append = _local.append
        except AttributeError:
            append = _append()
        append((channel.number, label, None if metadata is None else as_text(metadata), now, END))


def moment(channel: Channel, label: str, metadata: object = None) -> None:
    """Mark this moment."""
    if channel.on:
        try:
            append = _local.append
        except AttributeError:
            append = _append()
        append(
            (
                channel.number,
                label,
                None if metadata is None else as_text(metadata),
                perf_counter_ns(),
                MOMENT,
            )
        )


def whole(channel: Channel, label: str, start_ns: int, end_ns: int, metadata: str | None = None) -> None:
    """Record a span of this thread that is over, by its times (`perf_counter_ns`)."""
    if channel.on:
        try:
            append = _local.append
        except AttributeError:
            append = _append()
        append((channel.number, label, metadata, start_ns, end_ns, None))


class NamedRow:
    """A row beside those of threads, for spans that are over; it appears with its first span."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: Waiting | None = None
        self._row: Row | None = None

    def add(
        self, channel: Channel, label: str, start_ns: int, end_ns: int, metadata: str | None = None
    ) -> None:
        """Record a span."""
        if channel.on:
            with self._lock:
                if self._row is None or self._waiting is not waiting:  # a forked process has rows of its own
                    self._waiting = waiting
                    self._row = Row(None, 0, self._name)
                    waiting.rows.append(self._row)
                    on_first_point()
            self._row.records.append((channel.number, label, metadata, start_ns, end_ns, None))


def name_thread(name: str) -> None:
    """Name the row of the calling thread."""
    if not channels.recording():
        return
    row = getattr(_local, "row", None)
    (waiting.begin_row() if row is None else row).name = name


def sample(of: Any, nanoseconds: int, value: Any) -> None:
    """Record a value of a counter, or the counts of a heat map."""
    waiting.samples.append((of, nanoseconds, value))
    on_first_point()


class InstrumentedMethod:
    """A method of an object, each call of which is a span. The object can be sent to another process with it."""

    def __init__(self, method: Callable[..., Any], channel: Channel, label: str) -> None:
        functools.update_wrapper(self, method)
        self._parts = method, channel, label

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        method, channel, label = self._parts
        if not channel.on:
            return method(*args, **kwargs)
        with Span(channel, label):
            return method(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts


def instrumented(
    function: Callable[Arguments, Result], channel: Channel, label: str
) -> Callable[Arguments, Result]:
    """`function`, each call of which is a span."""

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if not channel.on:
            return function(*args, **kwargs)
        with Span(channel, label):
            return function(*args, **kwargs)

    return call
