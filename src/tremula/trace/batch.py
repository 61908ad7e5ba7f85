"""One batch of a trace: what was recorded between two moments at which the file was written.

A batch is one compressed block: a head in JSON (new names, spans that are open, counts), then columns of numbers, their
bytes sorted by significance. It names its number in the file, and the compression ends in a checksum, so a batch that
was changed, moved or cut is noticed. Batches only add to those before them.
"""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: bytes of a batch before compression, and of its head
MOST_BYTES = 64 * 2**20
MOST_HEAD = 32 * 2**20
#: characters of a label, a name or a text of metadata
LONGEST_TEXT = 10_000
#: bins of a heat map
MOST_BINS = 4096
#: nanoseconds: about 73 years on either side of the process's start
MOST_TIME = 2**61

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "events": ("row", "channel", "label", "start", "end", "metadata"),
    "moments": ("row", "channel", "label", "time", "metadata"),
    "samples": ("series", "time", "value"),
}
#: columns of whole numbers take four or eight bytes; `value` is a float
_SHORT = frozenset({"row", "channel", "label", "metadata", "series"})


class BadBatch(ValueError):
    """A batch that is not what it should be; the text says why."""


@dataclass
class Batch:
    """What a batch holds. Times are nanoseconds from the start of the process; -1 means no metadata.

    Attributes:
        number: from 1.
        now: when it was made.
        process: in the first batch, what process this is.
        texts, channels, rows, series, heatmaps: new ones; others refer to all of them by number, from 0. A row that is
            there already has a new name.
        open: spans that are not over: row, channel, label, start, metadata.
        lost: points that were not recorded.
        last: why nothing follows; "" if something may.
        tables: columns of spans, moments and samples.
        heat: per sample of a heat map its number and time, and the counts of its bins.
    """

    number: int
    now: int
    process: Mapping[str, Any] | None = None
    texts: Sequence[str] = ()
    channels: Sequence[str] = ()
    rows: Sequence[tuple[int, int, str, str]] = ()  #: number, tid, name, "thread" or "device"
    series: Sequence[tuple[str, str, str]] = ()  #: graph, unit, name
    heatmaps: Sequence[tuple[str, str, Sequence[float]]] = ()  #: name, unit, edges
    open: Sequence[tuple[int, int, int, int, int]] = ()
    lost: int = 0
    last: str = ""
    tables: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    heat: Sequence[tuple[int, int, NDArray[np.uint32]]] = ()

    def pack(self) -> tuple[bytes, int]:
        """The bytes of the batch, and how many they are before compression."""
        counts: dict[str, int] = {}
        parts: list[bytes] = []
        for name, columns in _COLUMNS.items():
            table = self.tables.get(name, {})
            counts[name] = len(table[columns[0]]) if table else 0
            if counts[name]:
                parts.extend(_shuffled(column, table[column]) for column in columns)
        parts.extend(np.asarray(counted, dtype="<u4").tobytes() for _, _, counted in self.heat)
        head = {
            "number": self.number, "now": self.now, "process": self.process, "texts": list(self.texts),
            "channels": list(self.channels), "rows": self.rows, "series": self.series, "heatmaps": self.heatmaps,
            "open": self.open, "lost": self.lost, "last": self.last, "counts": counts,
            "heat": [(which, moment, len(counted)) for which, moment, counted in self.heat],
        }  # fmt: skip
        text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode("ascii")
        raw = b"".join((len(text).to_bytes(4, "little"), text, *parts))
        return zlib.compress(raw, 1), len(raw)


def _dtype(column: str) -> str:
    return "<f8" if column == "value" else "<i4" if column in _SHORT else "<i8"


def _shuffled(column: str, values: NDArray[Any]) -> bytes:
    kept = values
    if _dtype(column) == "<i8":  # times grow slowly: their differences are small
        kept = np.diff(values, prepend=np.int64(0))
    kept = np.ascontiguousarray(kept, dtype=_dtype(column))
    return kept.view(np.uint8).reshape(len(kept), -1).T.tobytes()


def _restored(column: str, data: memoryview, rows: int) -> NDArray[Any]:
    dtype = np.dtype(_dtype(column))
    planes = np.frombuffer(data, np.uint8, rows * dtype.itemsize).reshape(dtype.itemsize, rows)
    values: NDArray[Any] = np.ascontiguousarray(planes.T).reshape(-1).view(dtype)
    return np.cumsum(values) if dtype.kind == "i" and dtype.itemsize == 8 else values


def unpack(data: bytes) -> tuple[Batch, int]:
    """The batch in `data`, its form checked but not what it refers to, and its bytes before compression.

    Raises BadBatch.
    """
    raw = _decompressed(data)
    size = int.from_bytes(raw[:4], "little")
    if len(raw) < 4 or size > min(MOST_HEAD, len(raw) - 4):
        raise BadBatch("the head is cut off")
    try:
        head = json.loads(raw[4 : 4 + size].decode("ascii"))
    except (ValueError, RecursionError):
        raise BadBatch("the head is not JSON") from None
    batch, counts, heat = _checked(head)
    view = memoryview(raw)[4 + size :]
    tables: dict[str, dict[str, NDArray[Any]]] = {}
    at = 0
    for name, columns in _COLUMNS.items():
        rows = counts[name]
        found = {}
        for column in columns:
            length = rows * np.dtype(_dtype(column)).itemsize
            if at + length > len(view):
                raise BadBatch(f"the {name} are cut off")
            found[column] = _restored(column, view[at : at + length], rows)
            at += length
        tables[name] = found
    batch.tables = tables
    sampled = []
    for which, moment, bins in heat:
        if at + 4 * bins > len(view):
            raise BadBatch("the heat maps are cut off")
        sampled.append((which, moment, np.frombuffer(view, "<u4", bins, at).copy()))
        at += 4 * bins
    if at != len(view):
        raise BadBatch("something follows the last column")
    batch.heat = sampled
    return batch, len(raw)


def _decompressed(data: bytes) -> bytes:
    machine = zlib.decompressobj()
    try:
        raw = machine.decompress(data, MOST_BYTES)
    except zlib.error as problem:
        raise BadBatch(str(problem)) from None
    if not machine.eof or machine.unused_data:
        raise BadBatch("it is too large, or cut off")
    return raw


def _checked(head: Any) -> tuple[Batch, dict[str, int], list[tuple[int, int, int]]]:
    keys = {
        "number", "now", "process", "texts", "channels", "rows", "series", "heatmaps", "open", "lost", "last",
        "counts", "heat",
    }  # fmt: skip
    if not isinstance(head, dict) or head.keys() != keys:
        raise BadBatch("the head has other fields")
    counts = head["counts"]
    if not isinstance(counts, dict) or counts.keys() != _COLUMNS.keys():
        raise BadBatch("the counts are of something else")
    process = head["process"]
    if process is not None and not isinstance(process, dict):
        raise BadBatch("the process is not an object")
    batch = Batch(
        number=_int(head["number"]),
        now=_time(head["now"]),
        process=process,
        texts=[_text(each) for each in _list(head["texts"])],
        channels=[_text(each) for each in _list(head["channels"])],
        rows=[_row(each) for each in _list(head["rows"])],
        series=[_texts(each) for each in _list(head["series"])],
        heatmaps=[_heatmap(each) for each in _list(head["heatmaps"])],
        open=[_open(each) for each in _list(head["open"])],
        lost=_int(head["lost"]),
        last=_text(head["last"]),
    )
    heat = []
    for each in _list(head["heat"]):
        which, moment, bins = _list(each, 3)
        heat.append((_int(which), _time(moment), _int(bins, MOST_BINS)))
    return batch, {name: _int(count) for name, count in counts.items()}, heat


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise BadBatch("a list has another form")
    return value


def _int(value: Any, most: int = 2**40, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:
        raise BadBatch("a number is out of range")
    return value


def _time(value: Any) -> int:
    return _int(value, MOST_TIME, -MOST_TIME)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise BadBatch("a text is missing or too long")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadBatch("a text cannot be encoded") from None
    return value


def _texts(value: Any) -> tuple[str, str, str]:
    graph, unit, name = _list(value, 3)
    return _text(graph), _text(unit), _text(name)


def _row(value: Any) -> tuple[int, int, str, str]:
    number, tid, name, kind = _list(value, 4)
    if kind not in ("thread", "device"):
        raise BadBatch("a row is of no known kind")
    return _int(number, 2**31 - 1), _int(tid, 2**63 - 1), _text(name), kind


def _open(value: Any) -> tuple[int, int, int, int, int]:
    row, channel, label, start, metadata = _list(value, 5)
    most = 2**31 - 1
    return _int(row, most), _int(channel, most), _int(label, most), _time(start), _int(metadata, most, -1)


def _heatmap(value: Any) -> tuple[str, str, tuple[float, ...]]:
    name, unit, edges = _list(value, 3)
    found = tuple(_list(edges))
    if not 2 <= len(found) <= MOST_BINS + 1 or not all(
        type(each) in (int, float) and math.isfinite(each) for each in found
    ):
        raise BadBatch("the edges of a heat map are not numbers")
    if any(high <= low for low, high in itertools.pairwise(found)):
        raise BadBatch("the edges of a heat map do not grow")
    return _text(name), _text(unit), tuple(float(each) for each in found)
