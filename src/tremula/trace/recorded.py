"""What a trace holds, as it is read: a process, its rows, and columns of what was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Process:
    """The process that was recorded. `start_us` is the wall clock, microseconds since 1970 UTC."""

    pid: int
    name: str
    host: str
    instance: int  #: its number in a distributed run; -1: none
    start_us: float
    start_ns: int  #: the same in nanoseconds
    clock: str  #: processes with the same one have `clock_ns` from the same clock; "": unknown
    clock_ns: int


@dataclass(frozen=True)
class Thread:
    """A row of the trace: a thread, or the modelled activity of the device (`kind` is "device")."""

    tid: int
    name: str
    kind: str


@dataclass(frozen=True)
class Events:
    """Spans as columns, in order of thread and start; an outer one before those in it. Times are microseconds from the
    start of the process.
    """

    thread: Ints
    channel: Ints
    label: Ints  #: number of a text
    start_us: Floats
    end_us: Floats
    depth: Ints
    parent: Ints  #: the span around it; -1: none
    metadata: Ints  #: number of a text; -1: none
    unfinished: NDArray[np.bool_]  #: open when the file was last written; the end is that moment

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class Instants:
    """Moments as columns, in order of thread and time."""

    thread: Ints
    channel: Ints
    label: Ints
    time_us: Floats
    metadata: Ints

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class Counter:
    """One series of a graph, in order of time."""

    graph: str
    unit: str
    series: str
    time_us: Floats
    value: Floats


@dataclass(frozen=True)
class HeatMapSamples:
    """The samples of a heat map, in order of time; `counts` has a row per sample and a column per bin."""

    name: str
    unit: str
    edges: tuple[float, ...]
    time_us: Floats
    counts: NDArray[np.uint32]
