"""How spans lie in each other: depths and parents, from their times alone."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: spans of a row that overlap without nesting; beyond, some may be drawn over each other
_MOST_OVERLAPPING = 2_000_000


def order(row: Ints, start: Ints, end: Ints) -> Ints:
    """The order in which spans lie in a row: by start, the longer first; of equal ones the one that was recorded later,
    as the outer one ends last.
    """
    recorded = np.arange(len(row))
    found: Ints = np.lexsort((-recorded, -end, start, row))
    return found


def depths(row: Ints, start: Ints, end: Ints) -> NDArray[np.int32]:
    """How many spans of its row a span lies in; the spans are in `order`. No two of one depth overlap."""
    found = np.zeros(len(row), np.int32)
    for first, last in rows(row):
        # a span without length takes place as well
        starts, ends = start[first:last], np.maximum(end[first:last], start[first:last] + 1)
        over = np.searchsorted(np.sort(ends), starts, side="right")
        depth = np.arange(last - first) - over
        if not _apart(depth, starts, ends) and last - first <= _MOST_OVERLAPPING:
            depth = _lanes(starts, ends)
        found[first:last] = depth
    return found


def rows(row: Ints) -> list[tuple[int, int]]:
    """First and one past the last span of each row; the spans are in `order`."""
    if not len(row):
        return []
    edges = np.flatnonzero(np.diff(row)) + 1
    bounds = [0, *edges.tolist(), len(row)]
    return list(itertools.pairwise(bounds))


def _apart(depth: Ints, start: Ints, end: Ints) -> bool:
    """Whether spans of one depth follow each other."""
    by_depth = np.argsort(depth, kind="stable")
    same = depth[by_depth][1:] == depth[by_depth][:-1]
    return bool(np.all(~same | (start[by_depth][1:] >= end[by_depth][:-1])))


def _lanes(start: Ints, end: Ints) -> Ints:
    """The smallest depth that is free, one span after the other."""
    found = np.zeros(len(start), np.int64)
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    opened = 0
    for at, (begin, over) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, opened = opened, opened + 1
        found[at] = lane
        heapq.heappush(busy, (over, lane))
    return found


def parents(row: Ints, depth: NDArray[np.int32], start: Ints, end: Ints) -> NDArray[np.int32]:
    """The span one depth above that each lies in; -1 if there is none. The spans are in `order`."""
    found = np.full(len(row), -1, np.int32)
    if not len(row):
        return found
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2))
    above = by_depth[bounds[0] : bounds[1]]
    for level in range(1, len(bounds) - 1):
        here = by_depth[bounds[level] : bounds[level + 1]]
        if len(above) and len(here):
            at = np.searchsorted(above, here) - 1
            candidate = above[np.maximum(at, 0)]
            inside = (at >= 0) & (row[candidate] == row[here]) & (end[here] <= end[candidate])
            found[here] = np.where(inside, candidate, -1)
        above = here
    return found


def children(parent: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """All spans sorted by their parent, and where each span's children begin in that list (one more entry at the end;
    those without a parent come first: see `children_of`).
    """
    by_parent: Ints = np.argsort(parent, kind="stable")
    firsts: Ints = np.searchsorted(parent[by_parent], np.arange(-1, len(parent) + 1))
    return by_parent, firsts


def children_of(index: int, found: tuple[Ints, Ints]) -> Sequence[int]:
    """The children of span `index` (-1: those without a parent), in order."""
    by_parent, firsts = found
    result: list[int] = by_parent[firsts[index + 1] : firsts[index + 2]].tolist()
    return result
