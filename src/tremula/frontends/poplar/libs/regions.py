"""Intervals of elements, split into balanced parts of whole grains.

Intervals are pairs of begin and end. A list of intervals is one item of a partition, or each is one by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tremula.frontends.poplar.libs.errors import PoplibsError

Pair = tuple[int, int]

UNLIMITED = 0xFFFFFFFF


def edges(elements: int, grain: int, most: int, smallest: int, largest: int) -> list[int]:
    """Where the parts of a number of elements begin and end: whole grains, as equal as possible."""
    if grain < 1 or most < 1:
        raise PoplibsError(f"elements cannot be split into {most} parts of grains of {grain}")
    grains = -(-elements // grain)
    if not grains:
        return [0]
    per_part = -(-grains // most)
    if largest // grain < per_part:
        per_part = max(1, largest // grain)
    if smallest:
        parts = max(1, grains // -(-smallest // grain))
        per_part = max(per_part, -(-grains // parts))
    parts = -(-grains // per_part)
    return [min(elements, part * grains // parts * grain) for part in range(parts + 1)]


def split(
    regions: Sequence[Pair],
    grain: int,
    most: int,
    smallest: int = 0,
    largest: int = UNLIMITED,
    longest: int = UNLIMITED,
) -> list[list[Pair]]:
    """Intervals in at most `most` parts of `smallest` to `largest` elements, each interval at most `longest`."""
    return [[piece for _, piece in part] for part in _split(regions, grain, most, smallest, largest, longest)]


def split_lists(
    lists: Sequence[Sequence[Pair]],
    grain: int,
    most: int,
    smallest: int = 0,
    largest: int = UNLIMITED,
    longest: int = UNLIMITED,
) -> list[list[list[Pair]]]:
    """The same where an item is a list of intervals: what is left of it in a part is a list again."""
    flat = [each for one in lists for each in one]
    owner = [number for number, one in enumerate(lists) for _ in one]
    found: list[list[list[Pair]]] = []
    limit = max(grain, longest // grain * grain)
    for part in _split(flat, grain, most, smallest, largest, UNLIMITED):
        lists_of_part: list[list[Pair]] = []
        last, room = -1, 0
        for place, (begin, end) in part:
            while begin < end:
                if owner[place] != last or not room:
                    lists_of_part.append([])
                    last, room = owner[place], limit
                taken = min(end - begin, room)
                lists_of_part[-1].append((begin, begin + taken))
                begin, room = begin + taken, room - taken
        found.append(lists_of_part)
    return found


def _split(
    regions: Sequence[Pair], grain: int, most: int, smallest: int, largest: int, longest: int
) -> list[list[tuple[int, Pair]]]:
    """Parts of intervals, each with the number of the interval that it belongs to."""
    sizes = [end - begin for begin, end in regions]
    borders = edges(sum(sizes), grain, most, smallest, largest)
    limit = max(grain, longest // grain * grain)
    found: list[list[tuple[int, Pair]]] = []
    place, used = 0, 0
    for first, last in pairwise(borders):
        left, part = last - first, []
        while left:
            while used == sizes[place]:
                place, used = place + 1, 0
            taken = min(left, limit, sizes[place] - used)
            begin = regions[place][0] + used
            part.append((place, (begin, begin + taken)))
            used, left = used + taken, left - taken
        found.append(part)
    return found


def merged(regions: Sequence[Pair]) -> list[Pair]:
    """The same elements in ascending order, neighbours joined."""
    found: list[Pair] = []
    for begin, end in sorted(regions):
        if begin == end:
            continue
        if found and begin < found[-1][1]:
            raise PoplibsError(f"the intervals {found[-1]} and {(begin, end)} overlap")
        if found and found[-1][1] == begin:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def balanced(total: int, parts: int) -> list[int]:
    """Numbers that differ by at most one and add up to `total`, the larger ones first."""
    return [total // parts + (number < total % parts) for number in range(parts)]


def unshuffling(regions: Sequence[Pair]) -> list[Pair]:
    """Where each interval lies once all are put one after the other, in the ascending order of their beginnings."""
    sizes = np.array([end - begin for begin, end in regions], dtype=np.int64)
    ends = np.cumsum(sizes)
    order = sorted(range(len(regions)), key=lambda number: regions[number][0])
    return [(int(ends[number] - sizes[number]), int(ends[number])) for number in order]
