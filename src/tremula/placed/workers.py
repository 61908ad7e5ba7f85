"""How long tiles compute: vertices on workers.

A worker issues an instruction in every sixth cycle of its tile (in as many as there are workers), so a vertex of `c`
cycles on its worker lasts six times as long on the tile, whether other workers have something to do or not. Cycles
"without idle threads" are the sum over the vertices, those "with idle threads" six times the busiest worker: the
identities that the published profiles of Poplar's IPU model obey (tutorial 6; thorbenlouw/lbm-graphcore, in which
20 vertices of 100 cycles, one on each tile, are 2,000 and 12,000).

A vertex goes to the worker that is free first, in the order in which the vertices were added. Vertices that occupy all
workers, and those of the supervisor, run one after the other; their cycles are those of the tile, as PopLibs'
estimators give them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.program.placed import Base, Floats, Ints, Vertices

#: vertices on the fullest tile up to which all tiles are filled at once, vertex by vertex
_MOST_ROUNDS = 2_048


@dataclass(frozen=True, eq=False)
class TileCycles:
    """Cycles of tiles that compute; others have none."""

    tiles: Ints  #: ascending
    #: from start to end
    cycles: Floats
    #: in which some thread issues an instruction
    busy: Floats

    @property
    def slowest(self) -> float:
        """Cycles of the slowest tile."""
        return float(self.cycles.max()) if len(self.cycles) else 0.0


def compute_cycles(batches: tuple[Vertices, ...], workers: int) -> TileCycles:
    """Cycles of each tile for the vertices of one compute set."""
    mine = [each for each in batches if each.base is Base.WORKER and each.count]
    others = [each for each in batches if each.base is not Base.WORKER and each.count]
    tile = _joined([each.tile for each in mine])
    cycles = np.concatenate([np.zeros(0), *(np.maximum(each.cycles, 0.0) for each in mine)])
    found = worker_cycles(tile, cycles, workers)
    if not others:
        return found
    more = _joined([each.tile for each in others])
    extra = np.concatenate([np.maximum(each.cycles, 0.0) for each in others])
    tiles = np.union1d(found.tiles, more)
    total, busy = np.zeros(len(tiles)), np.zeros(len(tiles))
    at = np.searchsorted(tiles, found.tiles)
    total[at], busy[at] = found.cycles, found.busy
    at = np.searchsorted(tiles, more)
    np.add.at(total, at, extra)
    np.add.at(busy, at, extra)
    return TileCycles(tiles, total, busy)


def worker_cycles(tile: Ints, cycles: Floats, workers: int) -> TileCycles:
    """Cycles of each tile for vertices of one worker each: their tiles, and their cycles on the worker."""
    tiles, place = np.unique(tile, return_inverse=True)
    busy = np.zeros(len(tiles))
    np.add.at(busy, place, cycles)
    return TileCycles(tiles, workers * _longest(place, cycles, len(tiles), workers), busy)


def _longest(place: NDArray[np.intp], cycles: Floats, tiles: int, workers: int) -> Floats:
    """Cycles of the busiest worker of each tile."""
    if not tiles:
        return np.zeros(0)
    order = np.argsort(place, kind="stable")
    place, cycles = place[order], cycles[order]
    counts = np.bincount(place, minlength=tiles)
    first = np.cumsum(counts) - counts
    least, most = np.minimum.reduceat(cycles, first), np.maximum.reduceat(cycles, first)
    # vertices that are all alike are dealt out evenly
    longest = np.asarray(most * -(-counts // workers), dtype=np.float64)
    uneven = np.flatnonzero((least != most) & (counts > 1))
    many = counts[uneven] > _MOST_ROUNDS
    for at in uneven[many].tolist():
        longest[at] = _one_by_one(cycles[first[at] : first[at] + counts[at]], workers)
    few = uneven[~many]
    if len(few):
        longest[few] = _all_at_once(cycles, first[few], counts[few], workers)
    return longest


def _all_at_once(cycles: Floats, first: Ints, counts: Ints, workers: int) -> Floats:
    """Deal out the first vertices of all tiles, then the second ones, and so on."""
    loads = np.zeros((len(first), workers))
    for number in range(int(counts.max())):
        here = np.flatnonzero(counts > number)
        free = np.argmin(loads[here], axis=1)
        loads[here, free] += cycles[first[here] + number]
    return np.asarray(loads.max(axis=1), dtype=np.float64)


def _one_by_one(cycles: Floats, workers: int) -> float:
    loads = [0.0] * workers
    for each in cycles.tolist():
        heapq.heapreplace(loads, loads[0] + each)
    return max(loads)


def _joined(columns: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])
