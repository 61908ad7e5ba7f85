"""Counters and heat maps: numbers over time, beside the spans of threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from tremula.errors import Error
from tremula.trace import channels, points


@dataclass(frozen=True)
class Series:
    """One line of a graph. Those with the same three names are one line."""

    graph: str
    unit: str
    name: str

    def add(self, value: float, nanoseconds: int | None = None) -> None:
        """Record a value, now or at that time (`perf_counter_ns`). Values that are not finite numbers are left out."""
        if channels._recording:
            number = float(value)
            if math.isfinite(number):
                points.sample(self, perf_counter_ns() if nanoseconds is None else nanoseconds, number)


@dataclass(frozen=True)
class HeatMap:
    """How values are distributed over time: each sample counts values per bin."""

    name: str
    unit: str
    edges: tuple[float, ...]

    @staticmethod
    def of(name: str, edges: Sequence[float], unit: str) -> HeatMap:
        """A heat map whose bins lie between these edges, which grow. Raises Error if they do not."""
        from tremula.trace.batch import MOST_BINS

        found = tuple(float(edge) for edge in edges)
        grows = all(low < high for low, high in itertools.pairwise(found))
        if not 2 <= len(found) <= MOST_BINS + 1 or not grows or not all(map(math.isfinite, found)):
            raise Error(
                f"The heat map {name!r} needs 2 to {MOST_BINS + 1} edges of bins, each larger than the one before."
            )
        return HeatMap(name, unit, found)

    def add(self, values: Iterable[float]) -> None:
        """Record how these values are distributed now; those outside of all bins are not counted."""
        if channels._recording:
            now = perf_counter_ns()
            import numpy as np

            given: Any = values if hasattr(values, "__len__") else list(values)
            points.sample(self, now, np.array(given, dtype=np.float64).reshape(-1))
