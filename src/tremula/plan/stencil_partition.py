"""How a grid is cut into blocks: over chips, over the tiles of a chip, over the worker contexts of a tile.

Two rules of published codes. "blocks" (thorbenlouw/lbm-graphcore): near-square blocks no smaller than a given
one, chips in strips and the six contexts side by side, both along the dimension that divides best. "factors"
(simehaa/IPU): all tiles in a box whose blocks have the least surface, chips along the last dimension, contexts
two by three over the first two dimensions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Shape = tuple[int, ...]
#: shapes of pieces of a block, and how many pieces have them
Pieces = list[tuple[Shape, int]]


@dataclass(frozen=True)
class Partition:
    """Numbers of parts along each dimension. Every level cuts as evenly as whole points allow."""

    grid: Shape
    #: chips along each dimension
    chips: Shape
    #: tiles of one chip along each dimension
    tiles: Shape
    #: worker contexts of one tile cut the block by this rule
    rule: str

    @property
    def chip_extents(self) -> Shape:
        """Points that the fullest chip holds along each dimension."""
        return tuple(-(-g // c) for g, c in zip(self.grid, self.chips, strict=True))

    def sizes(self, dimension: int) -> list[int]:
        """Extents of all blocks along a dimension, in order; they add up to the grid's."""
        return [
            size
            for chip in even(self.grid[dimension], self.chips[dimension])
            for size in even(chip, self.tiles[dimension])
        ]

    def blocks(self) -> Iterator[Shape]:
        """The different shapes of blocks on the fullest chip, the largest first."""
        extents = zip(self.chip_extents, self.tiles, strict=True)
        return itertools.product(*(sorted(set(even(e, t)), reverse=True) for e, t in extents))

    @property
    def tiles_per_chip(self) -> int:
        """Tiles with a block."""
        return math.prod(self.tiles)

    def pieces(self, block: Shape, contexts: int) -> list[Pieces]:
        """The ways in which the contexts of a tile may share `block`: one by a published rule, or several."""
        return [_cut_up(block, cuts) for cuts in _context_cuts(block, contexts, self.rule)]


def _cut_up(block: Shape, cuts: Shape) -> Pieces:
    ways = []
    for extent, parts in zip(block, cuts, strict=True):
        sizes = even(extent, parts)
        ways.append([(size, sizes.count(size)) for size in sorted(set(sizes), reverse=True)])
    return [
        (tuple(size for size, _ in choice), math.prod(count for _, count in choice))
        for choice in itertools.product(*ways)
    ]


def even(extent: int, parts: int) -> list[int]:
    """`extent` in `parts` parts that differ by one at most, the larger first."""
    parts = min(parts, extent)
    small, larger = divmod(extent, parts)
    return [small + 1] * larger + [small] * (parts - larger)


def _context_cuts(block: Shape, contexts: int, rule: str) -> list[Shape]:
    dims = range(len(block))
    along = [tuple(contexts if d == e else 1 for e in dims) for d in dims]
    if rule == "blocks":
        # the dimension with the smallest remainder for its length; the first of equals
        return [min(along, key=lambda cuts: sum(b % c / b for b, c in zip(block, cuts, strict=True)))]
    low = max(f for f in range(1, math.isqrt(contexts) + 1) if contexts % f == 0)
    box = (low, contexts // low, *(1 for _ in block[2:])) if len(block) > 1 else (contexts,)
    if rule == "factors":
        return [box if len(block) > 2 else along[0]]
    return [*along, box]


@lru_cache(maxsize=4096)
def partition(grid: Shape, tiles: int, chips: int, rule: str, smallest: Shape | None = None) -> Partition:
    """The cut of `grid` over `chips` chips of `tiles` tiles by `rule`."""
    over_chips = _chips(grid, chips, rule)
    extents = tuple(-(-g // c) for g, c in zip(grid, over_chips, strict=True))
    if rule == "factors":
        over_tiles = _least_surface(extents, tiles)
    else:
        over_tiles = _near_square(extents, tiles, smallest or (1,) * len(grid))
    return Partition(grid, over_chips, over_tiles, rule)


def _chips(grid: Shape, chips: int, rule: str) -> Shape:
    if rule == "factors" or len(grid) == 1:
        return (*(1 for _ in grid[1:]), chips)
    # strips along the one of the first two dimensions that divides better; the second of equals
    first = (grid[0] % chips) / grid[0] < (grid[1] % chips) / grid[1]
    along = (chips, 1) if first else (1, chips)
    return (min(along[0], grid[0]), min(along[1], grid[1]), *(1 for _ in grid[2:]))


def _near_square(extents: Shape, tiles: int, smallest: Shape) -> Shape:
    """Parts along each dimension, so that blocks are near cubes and not smaller than `smallest`."""
    limits = [max(1, min(tiles, e // s)) for e, s in zip(extents, smallest, strict=True)]
    order = [*range(len(extents) - 1, 0, -1), 0]
    parts = [1] * len(extents)
    left, dims = tiles, len(extents)
    for d in order:
        if dims == 1:
            wanted = left
        else:
            others = math.prod(max(extents[o], smallest[o]) for o in order if parts[o] == 1 and o != d)
            ideal = left * max(extents[d], smallest[d]) ** (dims - 1) / others
            wanted = math.ceil(ideal ** (1 / dims))
        parts[d] = max(1, min(limits[d], wanted, left))
        left //= parts[d]
        dims -= 1
    return tuple(parts)


def _least_surface(extents: Shape, tiles: int) -> Shape:
    """Factors of the number of tiles whose blocks have the least surface; fewer tiles where the grid is small."""
    if len(extents) == 1:
        return (min(tiles, extents[0]),)
    choices = factorisations(tiles, len(extents))
    fits = (choices <= np.array(extents)).all(axis=1)
    if not fits.any():
        return _near_square(extents, tiles, (1,) * len(extents))
    choices = choices[fits]
    blocks = np.array(extents) / choices
    surface = blocks.prod(axis=1)[:, None] / blocks
    totals = surface.sum(axis=1)
    # the last of equals, as the published search keeps it
    best = len(totals) - 1 - int(np.argmin(totals[::-1]))
    return tuple(int(f) for f in choices[best])


@lru_cache(maxsize=256)
def factorisations(number: int, factors: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """All ordered ways to write `number` as a product of so many factors, one per row."""
    divisors = [d for d in range(1, number + 1) if number % d == 0]
    rows = [
        (*head, number // math.prod(head))
        for head in itertools.product(divisors, repeat=factors - 1)
        if number % math.prod(head) == 0
    ]
    return np.array(rows, dtype=np.int64)


#: cuts of which the cycles are worked out when the fewest are asked for
_CANDIDATES = 48


def candidate_partitions(
    grid: Shape, tiles: int, chips: int, smallest: Shape | None = None
) -> list[Partition]:
    """Cuts worth comparing when the fewest cycles are asked for: each fills the tiles as far as it can."""
    over_chips = _chips(grid, chips, "blocks")
    extents = tuple(-(-g // c) for g, c in zip(grid, over_chips, strict=True))
    least = smallest or (1,) * len(grid)
    counts = [_even_counts(e, max(1, min(tiles, e // s))) for e, s in zip(extents, least, strict=True)]
    found = np.array([()], dtype=np.int64).reshape(1, 0)
    for choices in counts[1:]:
        found = np.hstack([np.repeat(found, len(choices), axis=0), np.tile(choices, len(found))[:, None]])
        found = found[found.prod(axis=1) <= tiles]
    first = np.clip(tiles // found.prod(axis=1), 1, counts[0][-1])
    found = np.hstack([first[:, None], found])
    blocks = -(-np.array(extents) // found)
    order = np.argsort((blocks + 2).prod(axis=1), kind="stable")[:_CANDIDATES]
    cuts = [(over_chips, tuple(int(c) for c in found[i])) for i in order]
    # the cuts of the published rules too: one may be a transpose of a candidate and exchange a little less
    for rule in ("blocks",) if smallest else ("blocks", "factors"):
        ruled = partition(grid, tiles, chips, rule, smallest)
        cuts.append((ruled.chips, ruled.tiles))
    return [Partition(grid, *cut, "best") for cut in dict.fromkeys(cuts)]


def _even_counts(extent: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers of parts, up to `most`, that give different largest parts."""
    sizes = np.arange(-(-extent // most), extent + 1)
    return np.unique(-(-extent // sizes))
