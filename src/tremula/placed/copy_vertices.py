"""Copies within a tile: the vertices that Poplar's runtime makes for them, and their cycles.

The published profiles of thorbenlouw/lbm-graphcore list the cycles of these vertices by type. What follows from them:

- A column of 100 or 102 single words is scattered by six vertices of 16 or 17 words each (16 and 17 x 45 + 36 cycles:
  the types sum up to 11,469,312 and 11,688,192 cycles on 1,216 tiles). Vertices for two places of a third variant have
  the 126 cycles that follow from the same law.
- Neighbouring elements are copied by one vertex, eight bytes in a cycle. Aligned rows of 100 words take 67 cycles,
  others 77 to 83, a few words 72. Taken are 20 cycles and one for eight bytes, which is up to 50 too few for a few
  words and 10 for rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.placed.pieces import Pieces
from tremula.program.placed import Floats, Ints

#: cycles of a vertex that copies to several places, beside the places
SCATTER_CYCLES = 36
#: cycles of each place beside its first word: 45 with it
PLACE_CYCLES = 44.5
#: places that a vertex has at least, as long as there are any left: two are done by one; more is not known
LEAST_PLACES = 4
#: cycles of a vertex that copies neighbouring elements, beside its bytes
MEMCPY_CYCLES = 20
#: bytes from which a copy of neighbouring elements is divided among workers
DIVIDED_BYTES = 2_048

MEMCPY, SCATTER = "poplar_rt::Memcpy64Bit", "poplar_rt::DstStridedCopy"


@dataclass(frozen=True, eq=False)
class CopyVertices:
    """Vertices of one type that copy, one entry for each."""

    type: str
    tile: Ints
    cycles: Floats


def copy_vertices(
    places: Pieces, tile: Ints, workers: int, bytes_per_cycle: float
) -> tuple[CopyVertices, ...]:
    """The vertices that write to `places`, each on its tile (one for each piece)."""
    if not len(places):
        return ()
    near = (np.abs(places.stride) == 1) | (places.count == 1) | (places.stride == 0)
    tiles, at = np.unique(tile, return_inverse=True)
    rows = np.bincount(at[near], minlength=len(tiles))
    # more rows than workers: they are places of a scatter as well
    plain = near & (rows[at] <= workers)
    found = []
    if plain.any():
        found.append(_memcpys(places.chosen(plain), tile[plain], workers, bytes_per_cycle))
    if not plain.all():
        found.append(_scatters(places.chosen(~plain), tile[~plain], workers, bytes_per_cycle))
    return tuple(found)


def _memcpys(places: Pieces, tile: Ints, workers: int, bytes_per_cycle: float) -> CopyVertices:
    size = places.bytes
    parts = np.clip(size // DIVIDED_BYTES + 1, 1, workers)
    cycles = MEMCPY_CYCLES + np.ceil(size / parts / bytes_per_cycle)
    return CopyVertices(MEMCPY, np.repeat(tile, parts), np.repeat(cycles, parts))


def _scatters(places: Pieces, tile: Ints, workers: int, bytes_per_cycle: float) -> CopyVertices:
    """One set of vertices for each tile and width of places."""
    single = (np.abs(places.stride) != 1) & (places.count > 1)
    width = np.where(single, places.element_bytes, places.bytes)
    count = np.where(single, places.count, 1)
    key = np.stack([tile, np.where(single, places.element_bytes, 0)])
    kinds, at = np.unique(key, axis=1, return_inverse=True)
    at = at.reshape(-1)
    counts = np.bincount(at, weights=count).astype(np.int64)
    sizes = np.bincount(at, weights=count * width)
    parts = np.minimum(-(-counts // LEAST_PLACES), workers)
    owner = np.repeat(np.arange(len(counts)), parts)
    number = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    mine = counts[owner] // parts[owner] + (number < counts[owner] % parts[owner])
    mean = (sizes / np.maximum(counts, 1))[owner]
    cycles = SCATTER_CYCLES + mine * (PLACE_CYCLES + np.maximum(mean / bytes_per_cycle, 0.5))
    return CopyVertices(SCATTER, kinds[0][owner], cycles)
