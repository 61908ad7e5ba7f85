"""Makes batches of what waits: pairs beginnings with ends, and counts what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tremula.trace.batch import Batch
from tremula.trace.measures import HeatMap, Series
from tremula.trace.numbering import Numbering
from tremula.trace.points import END, Begun, Record, Row, Waiting

#: points and characters of new texts after which a batch is complete
_MOST_POINTS = 400_000
_MOST_CHARACTERS = 2_000_000
#: points of a thread that may wait; of more, new spans are left out
_MOST_WAITING = 2_000_000
#: open spans in a batch
_MOST_OPEN = 10_000
#: nanoseconds between two batches that only say that the same spans are still open
_PAUSE_NS = 5_000_000_000
_EVENT = ("row", "channel", "label", "start", "end", "metadata")


class Collector:
    """Empties the lists of one process into batches; used by one thread at a time.

    Attributes:
        lost: points that were left out.
    """

    def __init__(self, origin_ns: int) -> None:
        self._origin = origin_ns
        self._numbers = Numbering()
        #: ends of contexts that did not begin in their thread, and whether to look for the beginning once more
        self._elsewhere: list[tuple[Record, bool]] = []
        self._batches = 1  # the first says what process this is
        self.lost = 0
        #: open spans in the last batch, and when that was made
        self._were_open: list[Begun] = []
        self._written = origin_ns
        self._clear()

    def _clear(self) -> None:
        self._events: list[tuple[int, int, int, int, int, int]] = []
        self._parts: list[dict[str, Any]] = []  # the same as columns
        self._parted = 0
        self._moments: list[tuple[int, int, int, int, int]] = []
        self._samples: list[tuple[int, int, float]] = []
        self._heat: list[tuple[int, int, Any]] = []

    def batches(self, waiting: Waiting, now_ns: int, last: str = "") -> Iterator[Batch]:
        """All that waits, in one or several batches; none if nothing does and more may follow."""
        rows = list(waiting.rows)
        for row in rows:
            self._numbers.row(row)
            taken = _taken(row.records)
            keep = len(taken) <= _MOST_WAITING
            for first in range(0, len(taken), _MOST_POINTS):
                part = taken[first : first + _MOST_POINTS]
                if not (keep and self._add_contexts(row, part)):
                    yield from self._add_each(row, part, keep, now_ns)
                if self._full():
                    yield self._batch(now_ns)
            if row.thread is not None and not row.thread.is_alive() and not row.records:
                waiting.rows.remove(row)
        self._end_elsewhere(rows)
        for of, moment, value in _taken(waiting.samples):
            self._sample(of, moment - self._origin, value)
            if self._full():
                yield self._batch(now_ns)
        something = (
            self._events
            or self._parts
            or self._moments
            or self._samples
            or self._heat
            or self._numbers.new.rows
        )
        opened = [(row, begun) for row in rows for begun in row.spans]
        same = [begun for _, begun in opened] == self._were_open
        if something or last or not same or (opened and now_ns - self._written > _PAUSE_NS):
            self._were_open = [begun for _, begun in opened]
            packed = [self._open(row, begun) for row, begun in opened[:_MOST_OPEN]]
            yield self._batch(now_ns, packed, last)

    def _add_contexts(self, row: Row, part: list[Record]) -> bool:
        """Add points that are all beginnings and ends of contexts, quickly; False if some are of another kind."""
        begins = [record for record in part if len(record) == 4]
        ends = [record for record in part if len(record) == 3]
        if len(begins) + len(ends) != len(part):
            return False
        ended = {id(end[0]) for end in ends}
        opened = [*row.spans, *begins] if row.spans else begins
        still = [begun for begun in opened if id(begun) not in ended]
        if len(opened) - len(still) != len(ends):  # one began elsewhere
            return False
        try:
            labels, metadata, channels = (
                dict.fromkeys([begun[at] for begun, _, _ in ends]) for at in (1, 2, 0)
            )
        except TypeError:  # a label that is not text
            return False
        texts = [text for text in (*labels, *metadata) if text is not None]
        if None in labels or not all(isinstance(text, str) for text in texts):
            return False
        if sum(map(len, texts)) > _MOST_CHARACTERS:
            return False
        count = len(ends)
        self._parts.append(
            {
                "row": np.full(count, row.number, np.int64),
                "channel": _column(ends, 0, {each: self._numbers.channel(each) for each in channels}),
                "label": _column(ends, 1, {each: self._numbers.text(each) for each in labels}),
                "start": np.fromiter([begun[3] for begun, _, _ in ends], np.int64, count) - self._origin,
                "end": np.fromiter([end for _, end, _ in ends], np.int64, count) - self._origin,
                "metadata": _column(ends, 2, {each: self._numbers.text(each) for each in metadata}),
            }
        )
        self._parted += count
        row.spans = still
        return True

    def _add_each(self, row: Row, part: list[Record], keep: bool, now_ns: int) -> Iterator[Batch]:
        for record in part:
            self._add(row, record, keep)
            if self._numbers.new.characters > _MOST_CHARACTERS:
                yield self._batch(now_ns)

    def _end_elsewhere(self, rows: list[Row]) -> None:
        """End contexts that began in another thread; one whose beginning is unknown gets a second chance."""
        before, self._elsewhere = self._elsewhere, []
        for record, again in before:
            for row in rows:
                at = next((at for at, begun in enumerate(row.spans) if begun is record[0]), -1)
                if at >= 0:
                    self._event(row, row.spans.pop(at), record[1], record[2])
                    break
            else:
                if again:
                    self._elsewhere.append((record, False))

    def _full(self) -> bool:
        waiting = (
            len(self._events) + self._parted + len(self._moments) + len(self._samples) + 64 * len(self._heat)
        )
        return waiting >= _MOST_POINTS or self._numbers.new.characters > _MOST_CHARACTERS

    def _add(self, row: Row, record: Record, keep: bool) -> None:
        kind = len(record)
        if kind == 4:  # a beginning
            if keep:
                row.spans.append(record)
            else:
                self.lost += 1
        elif kind == 3:  # the end of a context
            begun, now, metadata = record
            if row.spans and row.spans[-1] is begun:
                row.spans.pop()
                self._event(row, begun, now, metadata)
            else:  # contexts of coroutines end in any order, or it began in another thread
                for at in range(len(row.spans) - 1, -1, -1):
                    if row.spans[at] is begun:
                        self._event(row, row.spans.pop(at), now, metadata)
                        break
                else:
                    self._elsewhere.append((record, True))
        elif kind == 6:
            channel, label, metadata, start, end, _ = record
            self._event(row, (channel, label, metadata, start), end, None)
        elif record[4] == END:
            channel, label, metadata, now, _ = record
            for at in range(len(row.spans) - 1, -1, -1):
                if row.spans[at][0] == channel and row.spans[at][1] == label:
                    self._event(row, row.spans.pop(at), now, metadata)
                    break
            else:
                self.lost += 1
        else:
            channel, label, metadata, now, _ = record
            self._moments.append(
                (
                    row.number,
                    self._numbers.channel(channel),
                    self._numbers.label(label),
                    now - self._origin,
                    self._numbers.text(metadata),
                )
            )

    def _event(self, row: Row, begun: Begun, end: int, metadata: str | None) -> None:
        channel, label, given, start = begun
        start -= self._origin
        self._events.append(
            (
                row.number,
                self._numbers.channel(channel),
                self._numbers.label(label),
                start,
                max(start, end - self._origin),
                self._numbers.text(given if metadata is None else metadata),
            )
        )

    def _open(self, row: Row, begun: Begun) -> tuple[int, int, int, int, int]:
        channel, label, metadata, start = begun
        return (
            row.number,
            self._numbers.channel(channel),
            self._numbers.label(label),
            start - self._origin,
            self._numbers.text(metadata),
        )

    def _sample(self, of: Series | HeatMap, moment: int, value: Any) -> None:
        number = self._numbers.measure(of)
        if isinstance(of, HeatMap):
            counted, _ = np.histogram(value[np.isfinite(value)], np.array(of.edges))
            self._heat.append((number, moment, np.minimum(counted, 2**32 - 1)))
        else:
            self._samples.append((number, moment, value))

    def _batch(
        self,
        now_ns: int,
        opened: list[tuple[int, int, int, int, int]] | None = None,
        last: str = "",
    ) -> Batch:
        self._batches += 1
        self._written = now_ns
        tables: dict[str, dict[str, Any]] = {}
        if self._events or self._parts:
            each = dict(zip(_EVENT, np.array(self._events, np.int64).reshape(-1, len(_EVENT)).T, strict=True))
            parts = [*self._parts, each]
            tables["events"] = {name: np.concatenate([part[name] for part in parts]) for name in _EVENT}
        if self._moments:
            row, channel, label, time, metadata = np.array(self._moments, np.int64).T
            tables["moments"] = {
                "row": row, "channel": channel, "label": label, "time": time, "metadata": metadata
            }  # fmt: skip
        if self._samples:
            series, moments, values = zip(*self._samples, strict=True)
            tables["samples"] = {
                "series": np.array(series, np.int64),
                "time": np.array(moments, np.int64),
                "value": np.array(values, np.float64),
            }
        names = self._numbers.take()
        made = Batch(
            self._batches, now_ns - self._origin, None, names.texts, names.channels, names.rows, names.series,
            names.heatmaps, opened or [], self.lost, last, tables, self._heat,
        )  # fmt: skip
        self._clear()
        return made


def _column(ends: list[Record], at: int, numbers: dict[Any, int]) -> Any:
    """The numbers of a part of what began."""
    if len(numbers) == 1:
        return np.full(len(ends), next(iter(numbers.values())), np.int64)
    return np.fromiter([numbers[begun[at]] for begun, _, _ in ends], np.int64, len(ends))


def _taken(waiting: list[Any]) -> list[Any]:
    """The items that are in the list now; others may be appended meanwhile."""
    number = len(waiting)
    taken = waiting[:number]
    del waiting[:number]
    return taken
