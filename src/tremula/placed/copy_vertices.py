"""Copies within a tile: the vertices that Poplar's runtime makes for them, and their cycles.

The published profiles of thorbenlouw/lbm-graphcore list the cycles of these vertices by type. What follows from them:

- A column of 100 or 102 single words is scattered by six vertices of 16 or 17 words each (16 and 17 x 45 + 36 cycles:
  the types sum up to 11,469,312 and 11,688,192 cycles on 1,216 tiles).
- A row that begins aligned is copied by one vertex, eight bytes in a cycle: 67 cycles for 100 words, 83 for 101.
- Another row is divided: 101 words, two of them on a tile, have three vertices of 34, 34 and 33 words. They take 73
  cycles and one for every two words: 4,848 such rows take 14,544 x 73 + 4,848 x 101 / 2 = 1,306,536 cycles, which is
  the published sum.
- What a tile copies at a time is divided evenly among the workers, the words of such rows and of columns alike. A
  vertex takes a worker's share, the last one of a row or column what is left. Aligned rows are copied so fast that they
  have no share. With two rows of 101 words, a column of 100 has vertices of 51 and 49 words; beside aligned rows it has
  six. So two columns have eight of them on the mean tile (9,726 vertices are published for 1,216 tiles, and 8,522 of
  another program).
- Neighbouring vertices of a row that is not aligned share eight bytes of memory, and do not run at the same time. Where
  each tile has two rows in three vertices, these take 179 cycles of the busiest of six workers: two of 90 and 89.

Single words have no vertices: they are received in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.placed.pieces import Pieces
from tremula.program.placed import Flags, Floats, Ints

#: cycles of a vertex that copies to several places, beside the places
SCATTER_CYCLES = 36
#: cycles of each place beside its first word: 45 with it
PLACE_CYCLES = 44.5
#: places that a vertex has at least, as long as there are any left; not known
LEAST_PLACES = 4
#: cycles of a vertex that copies neighbouring words, beside one for every two of them: aligned ones, and others
ALIGNED_CYCLES, UNALIGNED_CYCLES = 17, 73
#: cycles more for an odd number of aligned words
ODD_CYCLES = 16
#: words that a vertex for words that are not aligned has at least, but the last one; published ones have 33 and more
LEAST_WORDS = 32
#: bytes that must be whole for a copy of eight bytes in a cycle, and those of a word
ALIGNED_BYTES, WORD_BYTES = 8, 4
#: bytes from which a copy of aligned elements is divided among workers
DIVIDED_BYTES = 2_048

MEMCPY, UNALIGNED, SCATTER = "poplar_rt::Memcpy64Bit", "poplar_rt::ShortMemcpy", "poplar_rt::DstStridedCopy"


@dataclass(frozen=True, eq=False)
class CopyVertices:
    """Vertices of one type that copy, one entry for each."""

    type: str
    tile: Ints
    cycles: Floats
    later: Flags  #: those that run when all others of the tile are done


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches of memory that some places lie in, one entry for each place."""

    begin: Ints  #: bytes into the variable
    words: Ints


def copy_vertices(
    places: Pieces,
    tile: Ints,
    offset: Ints,
    workers: int,
    bytes_per_cycle: float,
    stretches: Stretches | None = None,
) -> tuple[CopyVertices, ...]:
    """The vertices that write to `places`: each on its tile, so many bytes into its variable. Without `stretches`, each
    place is one of its own.
    """
    if not len(places):
        return ()
    near = (np.abs(places.stride) == 1) | (places.count == 1) | (places.stride == 0)
    tiles, at = np.unique(tile, return_inverse=True)
    rows = np.bincount(at[near], minlength=len(tiles))
    # more rows than workers: they are places of a scatter as well
    plain = near & (rows[at] <= workers)
    if stretches is None:
        stretches = Stretches(offset, -(-places.bytes // WORD_BYTES))
    aligned = plain & (stretches.begin % ALIGNED_BYTES == 0)
    unaligned = plain & ~aligned
    share = _shares(places, near, plain, at, stretches, workers)[at]
    found = []
    if aligned.any():
        found.append(_memcpys(places.bytes[aligned], tile[aligned], workers, bytes_per_cycle))
    if unaligned.any():
        found.append(
            _short_memcpys(places.bytes[unaligned], tile[unaligned], share[unaligned], bytes_per_cycle)
        )
    if not plain.all():
        found.append(_scatters(places.chosen(~plain), tile[~plain], share[~plain], bytes_per_cycle))
    return tuple(found)


def _shares(
    places: Pieces, near: Flags, plain: Flags, tile: NDArray[np.intp], stretches: Stretches, workers: int
) -> Ints:
    """Words that each worker copies, by tile: of rows that are not aligned, and of separate places."""
    rows = np.flatnonzero(plain & (stretches.begin % ALIGNED_BYTES != 0))
    _, once = np.unique(
        np.stack([tile[rows], places.variable[rows], stretches.begin[rows]]), axis=1, return_index=True
    )
    words = np.where(plain, 0, np.where(near, 1, places.count))
    words[rows[once]] = stretches.words[rows[once]]
    return np.asarray(-(-np.bincount(tile, weights=words).astype(np.int64) // workers))


def _memcpys(size: Ints, tile: Ints, workers: int, bytes_per_cycle: float) -> CopyVertices:
    parts = np.clip(size // DIVIDED_BYTES + 1, 1, workers)
    cycles = ALIGNED_CYCLES + np.floor(size / parts / bytes_per_cycle)
    cycles += np.where(size % ALIGNED_BYTES != 0, ODD_CYCLES, 0)
    tiles = np.repeat(tile, parts)
    return CopyVertices(MEMCPY, tiles, np.repeat(cycles, parts), np.zeros(len(tiles), dtype=np.bool_))


def _short_memcpys(size: Ints, tile: Ints, share: Ints, bytes_per_cycle: float) -> CopyVertices:
    """The vertices of rows that are not aligned: every second one of a row runs later."""
    most = np.maximum(share, LEAST_WORDS) * WORD_BYTES
    parts = -(-size // most)
    owner = np.repeat(np.arange(len(size)), parts)
    number = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    mine = np.minimum(size[owner] - number * most[owner], most[owner])
    cycles = UNALIGNED_CYCLES + mine / bytes_per_cycle
    return CopyVertices(UNALIGNED, tile[owner], cycles, number % 2 == 1)


def _scatters(places: Pieces, tile: Ints, share: Ints, bytes_per_cycle: float) -> CopyVertices:
    """A set of vertices for each tile and width of places, each with so many places at most."""
    single = (np.abs(places.stride) != 1) & (places.count > 1)
    width = np.where(single, places.element_bytes, places.bytes)
    count = np.where(single, places.count, 1)
    key = np.stack([tile, np.where(single, places.element_bytes, 0)])
    kinds, at = np.unique(key, axis=1, return_inverse=True)
    at = at.reshape(-1)
    counts = np.bincount(at, weights=count).astype(np.int64)
    sizes = np.bincount(at, weights=count * width)
    most = np.zeros(len(counts), dtype=np.int64)
    most[at] = np.maximum(share, LEAST_PLACES)
    parts = -(-counts // most)
    owner = np.repeat(np.arange(len(counts)), parts)
    number = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    mine = np.minimum(counts[owner] - number * most[owner], most[owner])
    mean = (sizes / np.maximum(counts, 1))[owner]
    cycles = SCATTER_CYCLES + mine * (PLACE_CYCLES + np.maximum(mean / bytes_per_cycle, 0.5))
    return CopyVertices(SCATTER, kinds[0][owner], cycles, np.zeros(len(owner), dtype=np.bool_))
