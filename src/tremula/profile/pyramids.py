"""Coarser views of long sequences, so that a viewer draws a screen's width of entries at any zoom.

Each entry covers a fixed number of consecutive items of the level below. Sums, least and largest values of an entry
are those of all that it covers, so a view of it bounds the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.profile.frames import PYRAMID_FANOUT
from tremula.profile.program_types import COMPUTE, EXCHANGE, STREAM

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LaneSteps:
    """The steps of one IPU in one run, in order."""

    types: Ints
    starts: Ints
    cycles: Ints
    mean_tile_cycles: Floats


def step_pyramid(lane: int, first_step: int, steps: LaneSteps) -> Iterator[dict[str, object]]:
    """Rows of the frame `pyramid` for a lane whose first step is row `first_step`, level by level."""
    cycles = steps.cycles
    computes = _of_types(steps.types, COMPUTE)
    balance = np.ones(len(cycles))
    timed = computes & (cycles > 0)
    balance[timed] = np.clip(steps.mean_tile_cycles[timed] / cycles[timed], 0.0, 1.0)
    exchanges, streams = _of_types(steps.types, EXCHANGE), _of_types(steps.types, STREAM)
    sums = {
        "compute": np.where(computes, cycles, 0),
        "exchange": np.where(exchanges, cycles, 0),
        "sync": np.where(computes | exchanges | streams, 0, cycles),
        "stream": np.where(streams, cycles, 0),
        "steps": np.ones(len(cycles), dtype=np.int64),
    }
    start, end, most = steps.starts, steps.starts + cycles, cycles
    # of the steps that compute; those that do not must not show
    low, high = np.where(timed, balance, np.inf), np.where(timed, balance, -np.inf)
    level = 0
    while len(start) > 1:
        level += 1
        at = np.arange(0, len(start), PYRAMID_FANOUT)
        sums = {name: np.add.reduceat(values, at) for name, values in sums.items()}
        start, end = start[at], np.maximum.reduceat(end, at)
        most = np.maximum.reduceat(most, at)
        low, high = np.minimum.reduceat(low, at), np.maximum.reduceat(high, at)
        covered = np.cumsum(sums["steps"])
        yield {
            "lane": lane,
            "level": level,
            "first_step": first_step + covered - sums["steps"],
            **sums,
            "start": start,
            "end": end,
            "low_balance": np.where(np.isfinite(low), low, 1.0),
            "high_balance": np.where(np.isfinite(high), high, 1.0),
            "most_cycles": most,
        }


def liveness_pyramid(ipu: int, bytes_in_use: Ints) -> Iterator[dict[str, object]]:
    """Rows of the frame `liveness_pyramid` for the bytes of an IPU in each program step, level by level."""
    low = high = bytes_in_use
    first = high_at = np.arange(len(low), dtype=np.int64)
    count = np.ones(len(low), dtype=np.int64)
    level = 0
    while len(low) > 1:
        level += 1
        at = np.arange(0, len(low), PYRAMID_FANOUT)
        highest = np.maximum.reduceat(high, at)
        # the first item of each entry that is as high as the highest
        candidates = np.where(
            high == np.repeat(highest, PYRAMID_FANOUT)[: len(high)], high_at, np.iinfo(np.int64).max
        )
        high_at = np.minimum.reduceat(candidates, at)
        low, high = np.minimum.reduceat(low, at), highest
        first, count = first[at], np.add.reduceat(count, at)
        yield {
            "ipu": ipu,
            "level": level,
            "first": first,
            "count": count,
            "low": low,
            "high": high,
            "high_at": high_at,
        }


def _of_types(types: Ints, wanted: frozenset[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isin(types, [int(each) for each in wanted])
    return found
