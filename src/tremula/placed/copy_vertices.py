"""Copies within a tile: the vertices that Poplar's runtime makes for them, and their cycles.

The published profiles of thorbenlouw/lbm-graphcore list the cycles of these vertices by type. What follows from them:

- A column of 100 or 102 single words is scattered by six vertices of 16 or 17 words each (16 and 17 x 45 + 36 cycles:
  the types sum up to 11,469,312 and 11,688,192 cycles on 1,216 tiles). Vertices for two places of a third variant have
  the 126 cycles that follow from the same law. Where rows come to the tile as well, the column has the workers that
  they leave: four for two rows (9,726 vertices).
- Rows are copied by a vertex for each: eight bytes in a cycle where they are aligned (67 cycles for 100 words), else a
  word in a cycle (100 words take 120 in one vertex or 140 in two), and a word in two cycles where their number is odd
  (101 words take 269 in three vertices). Single words have no vertices: they are received in place.
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
#: cycles of a vertex that copies neighbouring elements, beside them: aligned ones, others, an odd number of words
MEMCPY_CYCLES = (17, 20, 22)
#: bytes that must be whole for a copy of eight bytes in a cycle, and those of a word
ALIGNED_BYTES, WORD_BYTES = 8, 4
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
    places: Pieces, tile: Ints, offset: Ints, workers: int, bytes_per_cycle: float
) -> tuple[CopyVertices, ...]:
    """The vertices that write to `places`: each on its tile, so many bytes into its variable."""
    if not len(places):
        return ()
    near = (np.abs(places.stride) == 1) | (places.count == 1) | (places.stride == 0)
    tiles, at = np.unique(tile, return_inverse=True)
    rows = np.bincount(at[near], minlength=len(tiles))
    # more rows than workers: they are places of a scatter as well
    plain = near & (rows[at] <= workers)
    found = []
    if plain.any():
        found.append(_memcpys(places.bytes[plain], tile[plain], offset[plain], workers, bytes_per_cycle))
    if not plain.all():
        free = np.maximum(workers - rows, 1)[at[~plain]]
        found.append(_scatters(places.chosen(~plain), tile[~plain], free, bytes_per_cycle))
    return tuple(found)


def _memcpys(size: Ints, tile: Ints, offset: Ints, workers: int, bytes_per_cycle: float) -> CopyVertices:
    parts = np.clip(size // DIVIDED_BYTES + 1, 1, workers)
    aligned = (size % ALIGNED_BYTES == 0) & (offset % ALIGNED_BYTES == 0)
    odd = size % ALIGNED_BYTES != 0
    start = np.choose(np.where(aligned, 0, np.where(odd, 2, 1)), MEMCPY_CYCLES)
    # a copy of eight bytes in a cycle loads and stores at once; others do one after the other, odd ones word by word
    slower = np.where(aligned, 1, np.where(odd, ALIGNED_BYTES // 2, ALIGNED_BYTES // WORD_BYTES))
    cycles = start + np.ceil(size / parts * slower / bytes_per_cycle)
    return CopyVertices(MEMCPY, np.repeat(tile, parts), np.repeat(cycles, parts))


def _scatters(places: Pieces, tile: Ints, workers: Ints, bytes_per_cycle: float) -> CopyVertices:
    """One set of vertices for each tile and width of places, on so many workers."""
    single = (np.abs(places.stride) != 1) & (places.count > 1)
    width = np.where(single, places.element_bytes, places.bytes)
    count = np.where(single, places.count, 1)
    key = np.stack([tile, np.where(single, places.element_bytes, 0)])
    kinds, at = np.unique(key, axis=1, return_inverse=True)
    at = at.reshape(-1)
    counts = np.bincount(at, weights=count).astype(np.int64)
    sizes = np.bincount(at, weights=count * width)
    available = np.zeros(len(counts), dtype=np.int64)
    available[at] = workers
    parts = np.minimum(-(-counts // LEAST_PLACES), available)
    owner = np.repeat(np.arange(len(counts)), parts)
    number = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    mine = counts[owner] // parts[owner] + (number < counts[owner] % parts[owner])
    mean = (sizes / np.maximum(counts, 1))[owner]
    cycles = SCATTER_CYCLES + mine * (PLACE_CYCLES + np.maximum(mean / bytes_per_cycle, 0.5))
    return CopyVertices(SCATTER, kinds[0][owner], cycles)
