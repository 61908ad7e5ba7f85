"""Graphs and heat maps: numbers over time."""

from __future__ import annotations

import datetime
import struct
import time
from collections.abc import Iterable, Sequence

from tremula.trace import measures


class Series:
    """One line of a graph. `Graph.addSeries` creates it."""

    def __init__(self, series: measures.Series, enabled: bool) -> None:
        self._series = series
        self._enabled = enabled

    def add(self, value: float, timestamp: datetime.datetime | float | None = None) -> None:
        """Record a value, now or at that time: a `datetime`, or seconds since 1970 as `time.time` gives them."""
        if not self._enabled:
            return
        if timestamp is None:
            self._series.add(value)
            return
        seconds = timestamp.timestamp() if isinstance(timestamp, datetime.datetime) else float(timestamp)
        ago = time.time() - seconds
        self._series.add(value, time.perf_counter_ns() - round(ago * 1e9))


class Graph:
    """A picture of one or several series."""

    def __init__(self, name: str, unit: str = "", enable: bool = True) -> None:
        self._name = str(name)
        self._unit = str(unit)
        self._enabled = bool(enable)

    def addSeries(self, name: str) -> Series:
        """A new line."""
        return Series(measures.Series(self._name, self._unit, str(name)), self._enabled)


class HeatmapDouble:
    """How values are distributed over time, in bins between these edges."""

    def __init__(self, name: str, binEdges: Sequence[float], unit: str = "") -> None:
        self._map = measures.HeatMap.of(str(name), binEdges, str(unit))

    def add(self, values: Iterable[float]) -> None:
        """Record how these values are distributed now. Those outside of all bins are not counted."""
        self._map.add(values)


class HeatmapFloat(HeatmapDouble):
    """A heat map of single-precision numbers. Values are stored in double precision."""


class HeatmapInt(HeatmapDouble):
    """A heat map of integers."""


def decodeHeatmapData(data: bytes) -> list[int]:
    """The counts of bins in packed form: little-endian words of 32 bits."""
    if len(data) % 4:
        raise ValueError(f"Counts of bins take four bytes each, but {len(data)} bytes were given")
    return list(struct.unpack(f"<{len(data) // 4}I", data))
