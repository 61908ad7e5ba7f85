"""When tiles can send to their neighbours: an exchange of many transfers, laid out in time.

A tile sends one word per cycle and receives one. The compiler fixes the order beforehand: tile after tile, each
transfer at the first moment at which both its ends are free for all of it. Transfers are not cut, so gaps remain, and
the slowest tile ends later than its own words need. On a square grid with four neighbours it takes up to half again as
long and the mean tile 6 % more; the blur of thorbenlouw/lbm-graphcore was measured at 1.43 and 1.08 cycles per word.
No number here is fitted, but the order is chosen: of eight that were tried (by tile, by direction, longest first, at
random; tiles in rows or at random) longest first on tiles at random does about as well (1.48 and 1.03); the others
give 1.0, or 1.75 and more, on the slowest tile.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

#: tiles of a patch in each direction from which the gaps of a larger grid are read off, by number of dimensions
_PATCH = {1: 2048, 2: 49}
_PATCH_OF_MORE = 6

#: where a neighbour is, and the words that come from there
Neighbour = tuple[tuple[int, ...], int]
Busy = list[tuple[int, int]]


@dataclass(frozen=True)
class Gaps:
    """Cycles until the words of an exchange are there, from the first of them on."""

    slowest: float
    #: over all tiles, those that receive nothing included
    mean: float
    #: share of tiles that receive something
    taking_part: float


def first_fit(tiles: Sequence[int], neighbours: Sequence[Neighbour]) -> Gaps:
    """An exchange on a grid of `tiles` in which each tile receives from the neighbours that it has.

    Args:
        tiles: extents of the grid of tiles.
        neighbours: offset of each neighbour and the words received from it, in the order in which they are placed.
    """
    return _first_fit(tuple(tiles), tuple(neighbours))


def slowest_cycles(tiles: Sequence[int], neighbours: Sequence[Neighbour]) -> float:
    """Cycles of the slowest tile of a grid of `tiles`; large grids are taken to behave like a patch of them."""
    patch = _PATCH.get(len(tiles), _PATCH_OF_MORE)
    return first_fit([min(extent, patch) for extent in tiles], neighbours).slowest


@lru_cache(maxsize=4096)
def _first_fit(tiles: tuple[int, ...], neighbours: tuple[Neighbour, ...]) -> Gaps:
    sends: dict[tuple[int, ...], Busy] = {}
    last: dict[tuple[int, ...], int] = {}
    for here in itertools.product(*map(range, tiles)):
        receives: Busy = []
        for offset, words in neighbours:
            there = tuple(a + b for a, b in zip(here, offset, strict=True))
            if words <= 0 or not all(0 <= at < extent for at, extent in zip(there, tiles, strict=True)):
                continue
            sending = sends.setdefault(there, [])
            start = _earliest(sending, receives, words)
            insort(sending, (start, start + words))
            insort(receives, (start, start + words))
        if receives:
            last[here] = receives[-1][1]
    count = 1
    for extent in tiles:
        count *= extent
    if not last:
        return Gaps(0.0, 0.0, 0.0)
    return Gaps(float(max(last.values())), sum(last.values()) / count, len(last) / count)


def _earliest(sending: Busy, receiving: Busy, words: int) -> int:
    """The first moment from which both are free for so long."""
    start = 0
    for begin, end in sorted([*sending, *receiving]):
        if begin < start + words and start < end:
            start = end
    return start
