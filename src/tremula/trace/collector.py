"""Makes batches of what waits: pairs beginnings with ends, gives names numbers, counts what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tremula.trace.batch import LONGEST_TEXT, Batch
from tremula.trace.channels import Channel
from tremula.trace.measures import HeatMap, Series
from tremula.trace.names import MODELLED
from tremula.trace.points import END, Begun, Record, Row, Waiting

#: points and characters of new texts after which a batch is complete
_MOST_POINTS = 50_000
_MOST_CHARACTERS = 2_000_000
#: points of a thread that may wait; of more, new spans are left out
_MOST_WAITING = 2_000_000
#: different texts of a trace, and open spans in a batch
_MOST_TEXTS = 1_000_000
_MOST_OPEN = 10_000
_TOO_MANY = "(one of too many labels)"


class Collector:
    """Empties the lists of one process into batches; used by one thread at a time.

    Attributes:
        lost: points that were left out.
    """

    def __init__(self, origin_ns: int) -> None:
        self._origin = origin_ns
        self._texts: dict[str, int] = {}
        self._channels: dict[Channel, int] = {}
        self._measures: dict[object, int] = {}
        self._series = self._heatmaps = 0
        self._rows = 0
        self._batches = 1  # the first says what process this is
        self.lost = 0
        self._clear()

    def _clear(self) -> None:
        self._new_texts: list[str] = []
        self._new_channels: list[str] = []
        self._new_rows: list[tuple[int, int, str, str]] = []
        self._new_series: list[tuple[str, str, str]] = []
        self._new_heatmaps: list[tuple[str, str, tuple[float, ...]]] = []
        self._events: list[tuple[int, int, int, int, int, int]] = []
        self._moments: list[tuple[int, int, int, int, int]] = []
        self._samples: list[tuple[int, int, float]] = []
        self._heat: list[tuple[int, int, Any]] = []
        self._characters = 0

    def batches(self, waiting: Waiting, now_ns: int, last: str = "") -> Iterator[Batch]:
        """All that waits, in one or several batches; none if nothing does and more may follow."""
        rows = list(waiting.rows)
        for row in rows:
            self._name(row)
            taken = _taken(row.records)
            keep = len(taken) <= _MOST_WAITING
            for first in range(0, len(taken), _MOST_POINTS):
                for record in taken[first : first + _MOST_POINTS]:
                    self._add(row, record, keep)
                    if self._characters > _MOST_CHARACTERS:
                        yield self._batch(now_ns)
                if self._full():
                    yield self._batch(now_ns)
            if row.thread is not None and not row.thread.is_alive() and not row.records:
                waiting.rows.remove(row)
        for of, moment, value in _taken(waiting.samples):
            self._sample(of, moment - self._origin, value)
            if self._full():
                yield self._batch(now_ns)
        something = self._events or self._moments or self._samples or self._heat or self._new_rows
        opened = [(row, begun) for row in rows for begun in row.spans]
        if something or opened or last:
            packed = [self._open(row, begun) for row, begun in opened[:_MOST_OPEN]]
            yield self._batch(now_ns, packed, last)

    def _full(self) -> bool:
        waiting = len(self._events) + len(self._moments) + len(self._samples) + 64 * len(self._heat)
        return waiting >= _MOST_POINTS or self._characters > _MOST_CHARACTERS

    def _name(self, row: Row) -> None:
        name = row.name or (row.thread.name if row.thread is not None else "")
        if name != row.written_name:
            if row.number < 0:
                row.number = self._rows
                self._rows += 1
            row.written_name = name
            kind = "device" if row.name == MODELLED and row.thread is None else "thread"
            self._new_rows.append((row.number, row.tid, clean(name), kind))

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
        elif kind == 6:
            channel, label, metadata, start, end, _ = record
            self._event(row, (channel, label, metadata, start), end, None)
        elif record[4] == END:
            channel, label, metadata, now, _ = record
            for at in range(len(row.spans) - 1, -1, -1):
                if row.spans[at][0] is channel and row.spans[at][1] == label:
                    self._event(row, row.spans.pop(at), now, metadata)
                    break
            else:
                self.lost += 1
        else:
            channel, label, metadata, now, _ = record
            self._moments.append(
                (
                    row.number,
                    self._channel(channel),
                    self._label(label),
                    now - self._origin,
                    self._text(metadata),
                )
            )

    def _event(self, row: Row, begun: Begun, end: int, metadata: str | None) -> None:
        channel, label, given, start = begun
        start -= self._origin
        self._events.append(
            (
                row.number,
                self._channel(channel),
                self._label(label),
                start,
                max(start, end - self._origin),
                self._text(given if metadata is None else metadata),
            )
        )

    def _open(self, row: Row, begun: Begun) -> tuple[int, int, int, int, int]:
        channel, label, metadata, start = begun
        return (
            row.number,
            self._channel(channel),
            self._label(label),
            start - self._origin,
            self._text(metadata),
        )

    def _channel(self, channel: Channel) -> int:
        number = self._channels.get(channel)
        if number is None:
            number = self._channels[channel] = len(self._channels)
            self._new_channels.append(clean(channel.name))
        return number

    def _label(self, label: str) -> int:
        return self._text(str(label) if label is None else label)

    def _text(self, text: str | None) -> int:
        if text is None:
            return -1
        number = self._texts.get(text) if isinstance(text, str) else None
        if number is None:
            kept = clean(text)
            if len(self._texts) >= _MOST_TEXTS:
                kept = _TOO_MANY
            number = self._texts.get(kept)
            if number is None:
                number = self._texts[kept] = len(self._texts)
                self._new_texts.append(kept)
                self._characters += len(kept)
        return number

    def _sample(self, of: object, moment: int, value: Any) -> None:
        number = self._measures.get(of)
        if number is None:
            if isinstance(of, Series):
                number, self._series = self._series, self._series + 1
                self._new_series.append((clean(of.graph), clean(of.unit), clean(of.name)))
            elif isinstance(of, HeatMap):
                number, self._heatmaps = self._heatmaps, self._heatmaps + 1
                self._new_heatmaps.append((clean(of.name), clean(of.unit), of.edges))
            else:
                return
            self._measures[of] = number
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
        tables: dict[str, dict[str, Any]] = {}
        if self._events:
            row, channel, label, start, end, metadata = np.array(self._events, np.int64).T
            tables["events"] = {
                "row": row, "channel": channel, "label": label, "start": start, "end": end, "metadata": metadata
            }  # fmt: skip
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
        made = Batch(
            self._batches, now_ns - self._origin, None, self._new_texts, self._new_channels, self._new_rows,
            self._new_series, self._new_heatmaps, opened or [], self.lost, last, tables, self._heat,
        )  # fmt: skip
        self._clear()
        return made


def _taken(waiting: list[Any]) -> list[Any]:
    """The items that are in the list now; others may be appended meanwhile."""
    number = len(waiting)
    taken = waiting[:number]
    del waiting[:number]
    return taken


def clean(text: object) -> str:
    """A text of bounded length that can be encoded."""
    try:
        found = text if isinstance(text, str) else os.fsdecode(text) if isinstance(text, bytes) else str(text)
    except Exception:
        found = f"<{type(text).__name__}>"
    found = found[:LONGEST_TEXT]
    return found if found.isascii() else found.encode("utf-8", "replace").decode("utf-8")
