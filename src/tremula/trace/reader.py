"""Reads a trace file: columns of spans, moments, counters and heat maps of one process.

Nothing in a file is trusted: sizes are bounded, every batch is checked, and every number that refers to something is
compared with what is there, so a damaged file is refused with a clear message.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.trace import nesting
from tremula.trace.batch import MOST_BINS, MOST_TIME, BadBatch, Batch, unpack
from tremula.trace.recorded import Counter, Events, HeatMapSamples, Instants, Process, Thread
from tremula.trace.schema import (
    APPLICATION_ID,
    MOST_BLOB,
    MOST_FILE_BYTES,
    MOST_RAW_BYTES,
    OLDEST_VERSION,
    SCHEMA_VERSION,
    TABLES,
)
from tremula.trace.snapshot import read_consistently
from tremula.untrusted_sqlite import FileKind, check_definitions, open_untrusted, query_timeout

TRACE = FileKind(
    word="trace",
    application_id=APPLICATION_ID,
    oldest_version=OLDEST_VERSION,
    newest_version=SCHEMA_VERSION,
    most_file_bytes=MOST_FILE_BYTES,
    most_blob_bytes=MOST_BLOB,
    remedy="Run the program again with PVTI_OPTIONS set.",
    confused_with="a trace of the original stack has another schema",
    error_type="trace_error",
)


class TraceFile:
    """A trace file, read as a whole; it is not open afterwards.

    Attributes:
        path: the file.
        process: what was recorded; `processes` has it as a sequence.
        threads: the rows.
        channels: their names.
        texts: labels and metadata.
        events, instants, counters, heatmaps: what was recorded.
        end_us: when the file was last written.
        ended: why nothing was written any more; "" if the process was killed, or still runs.
        lost: points that were not recorded.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises Error if there is no such file, it is not a trace or a damaged one."""
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise TRACE.bad(self.path, "it is not a regular file")
        with TRACE.errors_translated(self.path):
            batches = read_consistently(self.path, _batches)
            try:
                self._join(batches)
            except BadBatch as problem:
                raise TRACE.bad(self.path, f"the file is damaged ({problem})") from None

    @property
    def processes(self) -> Sequence[Process]:
        """The processes of the file: one."""
        return (self.process,)

    @functools.cached_property
    def _children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return nesting.children(self.events.parent)

    def children(self, event: int) -> Sequence[int]:
        """The spans that lie directly in span `event`, in order; of -1, all that lie in none."""
        return nesting.children_of(event, self._children)

    def metadata(self, number: int) -> str | None:
        """The metadata of a span or moment, from the number in its column."""
        return None if number < 0 else self.texts[number]

    def _join(self, batches: Sequence[Batch]) -> None:
        if not batches or batches[0].process is None:
            raise BadBatch("the process is missing")
        self.process = _process(batches[0].process)
        self.texts = [text for batch in batches for text in batch.texts]
        self.channels = [name for batch in batches for name in batch.channels]
        self.threads = _threads(batches)
        self.lost = batches[-1].lost
        self.ended = batches[-1].last
        now = max(batch.now for batch in batches)
        self.end_us = now / 1e3
        self.events = self._events(batches, now)
        self.instants = self._instants(batches)
        self.counters = _counters(batches)
        self.heatmaps = _heatmaps(batches)

    def _events(self, batches: Sequence[Batch], now: int) -> Events:
        columns = {
            name: np.concatenate(
                [np.zeros(0, np.int64), *(batch.tables["events"][name] for batch in batches)],
                dtype=np.int64,
            )
            for name in ("row", "channel", "label", "start", "end", "metadata")
        }
        opened = np.array(batches[-1].open, np.int64).reshape(-1, 5)
        finished = len(columns["row"])
        added = dict(zip(("row", "channel", "label", "start", "metadata"), opened.T, strict=True))
        added["end"] = np.maximum(added["start"], now)
        columns = {name: np.concatenate([values, added[name]]) for name, values in columns.items()}
        self._check(columns)
        start, end = columns["start"], columns["end"]
        _in_range(start, -MOST_TIME, MOST_TIME)
        _in_range(end, -MOST_TIME, MOST_TIME)
        if np.any(end < start):
            raise BadBatch("a span ends before it starts")
        order = nesting.order(columns["row"], start, end)
        sorted_columns = {name: values[order] for name, values in columns.items()}
        row, start, end = (sorted_columns[name] for name in ("row", "start", "end"))
        depth = nesting.depths(row, start, end)
        return Events(
            thread=row.astype(np.int32),
            channel=sorted_columns["channel"].astype(np.int32),
            label=sorted_columns["label"].astype(np.int32),
            start_us=start / 1e3,
            end_us=end / 1e3,
            depth=depth,
            parent=nesting.parents(row, depth, start, end),
            metadata=sorted_columns["metadata"].astype(np.int32),
            unfinished=order >= finished,
        )

    def _instants(self, batches: Sequence[Batch]) -> Instants:
        columns = {
            name: np.concatenate(
                [np.zeros(0, np.int64), *(batch.tables["moments"][name] for batch in batches)],
                dtype=np.int64,
            )
            for name in ("row", "channel", "label", "time", "metadata")
        }
        self._check(columns)
        _in_range(columns["time"], -MOST_TIME, MOST_TIME)
        order = np.lexsort((columns["time"], columns["row"]))
        return Instants(
            thread=columns["row"][order].astype(np.int32),
            channel=columns["channel"][order].astype(np.int32),
            label=columns["label"][order].astype(np.int32),
            time_us=columns["time"][order] / 1e3,
            metadata=columns["metadata"][order].astype(np.int32),
        )

    def _check(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        _in_range(columns["row"], 0, len(self.threads) - 1)
        _in_range(columns["channel"], 0, len(self.channels) - 1)
        _in_range(columns["label"], 0, len(self.texts) - 1)
        _in_range(columns["metadata"], -1, len(self.texts) - 1)


def _in_range(values: NDArray[np.int64], least: int, most: int) -> None:
    if len(values) and (values.min() < least or values.max() > most):
        raise BadBatch("a number refers to nothing")


def _batches(path: Path) -> list[Batch]:
    """All batches of the file, in order."""
    connection, _ = open_untrusted(path, TRACE)
    found: list[Batch] = []
    raw_bytes = 0
    with contextlib.closing(connection), TRACE.errors_translated(path):
        check_definitions(connection, path, TRACE, TABLES)
        with query_timeout(connection):
            for number, content in connection.execute("SELECT number, content FROM batches ORDER BY number"):
                if number != len(found) + 1 or not isinstance(content, bytes):
                    raise TRACE.bad(path, "batches are missing")
                try:
                    batch, size = unpack(content)
                except BadBatch as problem:
                    raise TRACE.bad(path, f"the file is damaged (batch {number}: {problem})") from None
                raw_bytes += size
                if batch.number != number:
                    raise TRACE.bad(path, "batches were exchanged")
                if raw_bytes > MOST_RAW_BYTES:
                    raise TRACE.bad(path, f"it holds more than {MOST_RAW_BYTES:,} bytes")
                found.append(batch)
    return found


def _process(given: Mapping[str, Any]) -> Process:
    kinds = {
        "pid": int, "name": str, "host": str, "instance": int, "wall_ns": int, "clock": str, "clock_ns": int
    }  # fmt: skip
    if given.keys() != kinds.keys() or any(type(given[name]) is not kind for name, kind in kinds.items()):
        raise BadBatch("the process is described in another way")
    if any(abs(value) > 2**62 for value in given.values() if isinstance(value, int)):
        raise BadBatch("a number of the process is out of range")
    if any(len(value) > 1000 for value in given.values() if isinstance(value, str)):
        raise BadBatch("a text of the process is too long")
    return Process(
        pid=given["pid"], name=given["name"], host=given["host"], instance=given["instance"],
        start_us=given["wall_ns"] / 1e3, start_ns=given["wall_ns"], clock=given["clock"], clock_ns=given["clock_ns"],
    )  # fmt: skip


def _threads(batches: Sequence[Batch]) -> list[Thread]:
    found: list[Thread] = []
    for batch in batches:
        for number, tid, name, kind in batch.rows:
            if number > len(found):
                raise BadBatch("rows are missing")
            made = Thread(tid, name, kind)
            if number == len(found):
                found.append(made)
            else:
                found[number] = made
    return found


def _counters(batches: Sequence[Batch]) -> list[Counter]:
    series = [each for batch in batches for each in batch.series]
    number, moment, value = (
        np.concatenate([np.zeros(0, kind), *(batch.tables["samples"][name] for batch in batches)])
        for name, kind in (("series", np.int64), ("time", np.int64), ("value", np.float64))
    )
    _in_range(number, 0, len(series) - 1)
    _in_range(moment, -MOST_TIME, MOST_TIME)
    if not np.all(np.isfinite(value)):
        raise BadBatch("a value of a counter is not a number")
    order = np.lexsort((moment, number))
    bounds = np.searchsorted(number[order], np.arange(len(series) + 1))
    return [
        Counter(graph, unit, name, moment[order[low:high]] / 1e3, value[order[low:high]])
        for (graph, unit, name), low, high in zip(series, bounds, bounds[1:], strict=False)
    ]


def _heatmaps(batches: Sequence[Batch]) -> list[HeatMapSamples]:
    maps = [each for batch in batches for each in batch.heatmaps]
    samples: list[list[tuple[int, NDArray[np.uint32]]]] = [[] for _ in maps]
    for batch in batches:
        for number, moment, counts in batch.heat:
            if number >= len(maps) or len(counts) != len(maps[number][2]) - 1 or len(counts) > MOST_BINS:
                raise BadBatch("a sample of a heat map has other bins")
            samples[number].append((moment, counts))
    found = []
    for (name, unit, edges), taken in zip(maps, samples, strict=True):
        taken.sort(key=lambda each: each[0])
        counted = np.zeros((len(taken), len(edges) - 1), np.uint32)
        for at, (_, counts) in enumerate(taken):
            counted[at] = counts
        times = np.array([moment for moment, _ in taken], np.float64) / 1e3
        found.append(HeatMapSamples(name, unit, tuple(edges), times, counted))
    return found
