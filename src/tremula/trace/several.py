"""Several trace files on one clock: the processes of a program, or the instances of a distributed run.

Files of one host share a clock that never jumps; otherwise the wall clock says when each process started. Numbers of
rows, channels, labels, events, series and heat maps hold for the whole set.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.trace import nesting
from tremula.trace.names import SUFFIX
from tremula.trace.reader import TraceFile
from tremula.trace.recorded import Counter, Events, HeatMapSamples, Instants, Thread

#: files of a set
MOST_FILES = 512


@dataclass(frozen=True)
class SetRow:
    """A row of one of the processes; its events are those from `first` up to `last`, its instants likewise."""

    process: int
    thread: Thread
    first: int
    last: int
    first_instant: int
    last_instant: int


class TraceSet:
    """Trace files on one clock, which begins with the earliest process.

    Attributes:
        files: those that could be read.
        notes: what the user should know, such as files that could not be read.
        offsets_us: when each file's process started.
        clock: how the files were put on one clock.
        rows, channels, texts: of all files.
        events, instants: of all files, row by row; `thread` is the number of the row.
        counters, heatmaps: of all files, each with the number of its file.
    """

    def __init__(self, paths: str | Path | Iterable[str | Path]) -> None:
        """Read the files, and those in folders. Raises Error if there is none, or none can be read."""
        given = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
        self.notes: list[str] = []
        self.files = self._opened(_listed(given))
        clocks = {file.process.clock for file in self.files}
        same = len(clocks) == 1 and "" not in clocks
        self.clock = "one host" if same else "wall clock"
        starts = [file.process.clock_ns if same else file.process.start_ns for file in self.files]
        self.start_ns = self.files[starts.index(min(starts))].process.start_ns
        self.offsets_us = [(start - min(starts)) / 1e3 for start in starts]
        #: what viewers have computed for drawing
        self.drawn: dict[Any, Any] = {}
        self._join()

    def _opened(self, paths: Sequence[Path]) -> list[TraceFile]:
        found: list[TraceFile] = []
        problem: Error | None = None
        for path in paths[:MOST_FILES]:
            try:
                found.append(TraceFile(path))
            except Error as error:
                problem = problem or error
                self.notes.append(error.message)
        if not found:
            raise problem or Error("There is no trace file (*.pvti) there.", type="trace_error")
        if len(paths) > MOST_FILES:
            self.notes.append(f"Of {len(paths)} trace files, the first {MOST_FILES} are shown.")
        return found

    def _join(self) -> None:
        channel_numbers: dict[str, int] = {}
        text_numbers: dict[str, int] = {}
        self.rows: list[SetRow] = []
        events: list[Events] = []
        instants: list[Instants] = []
        at_event = at_instant = 0
        for number, (file, offset) in enumerate(zip(self.files, self.offsets_us, strict=True)):
            channels = _numbered(channel_numbers, file.channels)
            texts = _numbered(text_numbers, file.texts)
            spans, marks = file.events, file.instants
            threads = np.arange(len(file.threads) + 1)
            bounds = np.searchsorted(spans.thread, threads)
            mark_bounds = np.searchsorted(marks.thread, threads)
            first_row = len(self.rows)
            self.rows += [
                SetRow(
                    number, thread, at_event + int(bounds[at]), at_event + int(bounds[at + 1]),
                    at_instant + int(mark_bounds[at]), at_instant + int(mark_bounds[at + 1]),
                )
                for at, thread in enumerate(file.threads)
            ]  # fmt: skip
            events.append(
                Events(
                    thread=spans.thread + np.int32(first_row),
                    channel=_mapped(channels, spans.channel),
                    label=_mapped(texts, spans.label),
                    start_us=spans.start_us + offset,
                    end_us=spans.end_us + offset,
                    depth=spans.depth,
                    parent=np.where(spans.parent < 0, np.int32(-1), spans.parent + np.int32(at_event)),
                    metadata=_mapped(texts, spans.metadata),
                    unfinished=spans.unfinished,
                )
            )
            instants.append(
                Instants(
                    thread=marks.thread + np.int32(first_row),
                    channel=_mapped(channels, marks.channel),
                    label=_mapped(texts, marks.label),
                    time_us=marks.time_us + offset,
                    metadata=_mapped(texts, marks.metadata),
                )
            )
            at_event += len(spans)
            at_instant += len(marks)
        self.channels = list(channel_numbers)
        self.texts = list(text_numbers)
        self.events = Events(*(np.concatenate(each) for each in zip(*map(_columns, events), strict=True)))
        self.instants = Instants(
            *(np.concatenate(each) for each in zip(*map(_columns, instants), strict=True))
        )

    @functools.cached_property
    def counters(self) -> list[tuple[int, Counter]]:
        """Each with the number of its file."""
        return [
            (number, Counter(each.graph, each.unit, each.series, each.time_us + offset, each.value))
            for number, (file, offset) in enumerate(zip(self.files, self.offsets_us, strict=True))
            for each in file.counters
        ]

    @functools.cached_property
    def heatmaps(self) -> list[tuple[int, HeatMapSamples]]:
        """Each with the number of its file."""
        return [
            (number, HeatMapSamples(each.name, each.unit, each.edges, each.time_us + offset, each.counts))
            for number, (file, offset) in enumerate(zip(self.files, self.offsets_us, strict=True))
            for each in file.heatmaps
        ]

    @functools.cached_property
    def end_us(self) -> float:
        """The end of everything, also of what is modelled."""
        ends = [file.end_us + offset for file, offset in zip(self.files, self.offsets_us, strict=True)]
        if len(self.events):
            ends.append(float(self.events.end_us.max()))
        return max(0.0, *ends)

    @functools.cached_property
    def _children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return nesting.children(self.events.parent)

    def children(self, event: int) -> Sequence[int]:
        """The spans that lie directly in span `event`, in order."""
        return nesting.children_of(event, self._children)

    @property
    def title(self) -> str:
        """What was recorded, in a few words."""
        names = list(dict.fromkeys(file.process.name for file in self.files))
        many = f" ({len(self.files)} processes)" if len(self.files) > 1 else ""
        return ", ".join(names[:3]) + ("…" if len(names) > 3 else "") + many


def _listed(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.name.endswith(SUFFIX))
        else:
            found.append(path)
    return found


def _numbered(numbers: dict[str, int], names: Sequence[str]) -> NDArray[np.int32]:
    """The numbers of these names in the set; new names get one. The last entry stands for none."""
    return np.array([*(numbers.setdefault(name, len(numbers)) for name in names), -1], np.int32)


def _mapped(numbers: NDArray[np.int32], column: NDArray[np.int32]) -> NDArray[np.int32]:
    return numbers[column]  # -1 finds the last entry


def _columns(table: Events | Instants) -> list[NDArray[np.generic]]:
    return [getattr(table, name) for name in table.__dataclass_fields__]
