"""Spans for drawing: lanes of spans that follow each other, with a pyramid of occupancy over each.

A lane holds the spans of one row and depth, so both starts and ends grow. An entry of a level of the pyramid stands for
16 neighbours of the level below: from where to where they reach, how much of it they cover, and which is the longest. A
window is drawn from the top down: what is thinner than a pixel is not looked into.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FAN_OUT = 16


@dataclass(frozen=True)
class Level:
    """One level: the spans themselves (level 0), or groups of entries of the level below."""

    start: Floats
    end: Floats
    busy: Floats  #: microseconds that spans cover
    longest: Ints  #: position in the lane of the longest span
    spans: Ints  #: how many


@dataclass(frozen=True)
class Blocks:
    """What to draw of a lane, by start: single spans, and neighbours that are thinner than a pixel as one block."""

    start: Floats
    end: Floats
    busy: Floats
    event: Ints  #: the span, or the longest of several
    spans: Ints

    def __len__(self) -> int:
        return len(self.start)


class Lane:
    """The spans of one row and depth; `event` has their numbers, in order of time."""

    def __init__(self, row: int, depth: int, event: Ints, start: Floats, end: Floats) -> None:
        self.row = row
        self.depth = depth
        self.event = event
        self.levels = [Level(start, end, end - start, np.arange(len(event)), np.ones(len(event), np.int64))]
        while len(self.levels[-1].start) > FAN_OUT:
            self.levels.append(_grouped(self.levels[-1], self.levels[0]))

    def window(self, first: float, last: float, pixel: float) -> Blocks:
        """What to draw between two times, where a pixel has this many microseconds."""
        thin: list[Level] = []
        at = np.arange(len(self.levels[-1].start))
        for number in range(len(self.levels) - 1, -1, -1):
            level = self.levels[number]
            # a span without length at the edge is inside
            at = at[(level.end[at] >= first) & (level.start[at] <= last)]
            narrow = level.end[at] - level.start[at] <= pixel
            thin.append(_taken(level, at[narrow]))
            at = at[~narrow]
            if number:
                below = len(self.levels[number - 1].start)
                at = (at[:, None] * FAN_OUT + np.arange(FAN_OUT)).reshape(-1)
                at = at[at < below]
        wide = _taken(self.levels[0], at)
        merged = _merged(_joined(thin), first, pixel, self.levels[0])
        found = _joined([wide, merged])
        return Blocks(found.start, found.end, found.busy, self.event[found.longest], found.spans)


def lanes(row: Ints, depth: Ints, start: Floats, end: Floats, chosen: NDArray[np.bool_] | None) -> list[Lane]:
    """The lanes of spans; with `chosen`, only those are in them."""
    event = np.arange(len(row)) if chosen is None else np.flatnonzero(chosen)
    order = event[np.lexsort((start[event], depth[event], row[event]))]
    if not len(order):
        return []
    new = (np.diff(row[order]) != 0) | (np.diff(depth[order]) != 0)
    bounds = np.concatenate([[0], np.flatnonzero(new) + 1, [len(order)]])
    found = []
    for low, high in itertools.pairwise(bounds):
        mine = order[low:high]
        found.append(Lane(int(row[mine[0]]), int(depth[mine[0]]), mine, start[mine], end[mine]))
    return found


def _grouped(level: Level, spans: Level) -> Level:
    first = np.arange(0, len(level.start), FAN_OUT)
    length = spans.busy[level.longest]
    most = np.maximum.reduceat(length, first)
    # the first of each group that is as long as the longest
    is_most = length == np.repeat(most, np.diff(np.append(first, len(length))))
    where = np.flatnonzero(is_most)
    longest = where[np.searchsorted(where, first)]
    return Level(
        start=level.start[first],
        end=np.maximum.reduceat(level.end, first),
        busy=np.add.reduceat(level.busy, first),
        longest=level.longest[longest],
        spans=np.add.reduceat(level.spans, first),
    )


def _taken(level: Level, at: Ints) -> Level:
    return Level(level.start[at], level.end[at], level.busy[at], level.longest[at], level.spans[at])


def _joined(levels: list[Level]) -> Level:
    start = np.concatenate([each.start for each in levels])
    end = np.concatenate([each.end for each in levels])
    order = np.lexsort((end, start))
    return Level(
        start[order],
        end[order],
        np.concatenate([each.busy for each in levels])[order],
        np.concatenate([each.longest for each in levels])[order],
        np.concatenate([each.spans for each in levels])[order],
    )


def _merged(level: Level, first: float, pixel: float, spans: Level) -> Level:
    """Neighbours that start in the same pixel as one."""
    if not len(level.start):
        return level
    column = np.floor((level.start - first) / pixel)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(column) != 0]))
    length = spans.busy[level.longest]
    most = np.maximum.reduceat(length, begins)
    where = np.flatnonzero(length == np.repeat(most, np.diff(np.append(begins, len(length)))))
    return Level(
        start=level.start[begins],
        end=np.maximum.reduceat(level.end, begins),
        busy=np.add.reduceat(level.busy, begins),
        longest=level.longest[where[np.searchsorted(where, begins)]],
        spans=np.add.reduceat(level.spans, begins),
    )
