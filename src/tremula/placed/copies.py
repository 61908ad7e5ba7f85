"""Copies between elements: matched piece by piece, exchanged where the tile changes, and put in place.

Elements that stay on their tile are copied by vertices. Those that come from other tiles are received in place, unless
the place is not contiguous, or the variable is both read and written by the same exchange: then they are received in a
buffer and copied. Single elements are always received in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tremula.placed.copy_vertices import WORD_BYTES, CopyVertices, Stretches, copy_vertices
from tremula.placed.exchange import Exchange, exchange_of
from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import ModelledSet, VertexGroup
from tremula.placed.pieces import NOWHERE, Pieces, split
from tremula.placed.workers import worker_cycles
from tremula.program.placed import Copy, Ints, Runs, Variables

#: where the cycles of copy vertices come from
COPY_SOURCE = "rules for copies"


@dataclass(frozen=True, eq=False)
class Matched:
    """Pieces of the source and of the target with the same elements, in the same order."""

    source: Pieces
    target: Pieces

    @property
    def moved(self) -> int:
        """Elements that are copied."""
        return int(self.target.count.sum())


def matched(copies: Sequence[Copy], variables: Variables) -> Matched:
    """The pieces of copies, one copy after the other."""
    source = split(_in_line([each.source for each in copies]), variables)
    target = split(_in_line([each.target for each in copies]), variables)
    total = min(int(source.count.sum()), int(target.count.sum()))
    cuts = np.union1d(source.position, target.position)
    cuts = cuts[cuts < total]
    count = np.diff(np.append(cuts, total))
    return Matched(_parts(source, cuts, count), _parts(target, cuts, count))


def _in_line(runs: Sequence[Runs]) -> Runs:
    return Runs(
        *(np.concatenate([getattr(each, name) for each in runs]) for name in ("start", "count", "stride"))
    )


def _parts(pieces: Pieces, cuts: Ints, count: Ints) -> Pieces:
    at = np.searchsorted(pieces.position, cuts, side="right") - 1
    start = pieces.start[at] + (cuts - pieces.position[at]) * pieces.stride[at]
    return Pieces(
        pieces.run[at],
        cuts,
        start,
        count,
        np.where(count == 1, 1, pieces.stride[at]),
        pieces.tile[at],
        pieces.variable[at],
        pieces.element_bytes[at],
    )


@dataclass(frozen=True, eq=False)
class CopyWork:
    """What copies that run together do."""

    exchange: Exchange
    vertices: tuple[CopyVertices, ...]
    #: bytes of buffers on each tile
    buffers: Ints


def copy_work(copies: Matched, variables: Variables, hardware: PlacedHardware) -> CopyWork:
    """The exchange and the vertices of copies that run together."""
    source, target = copies.source, copies.target
    placed = (source.tile != NOWHERE) & (target.tile != NOWHERE)
    source, target = source.chosen(placed), target.chosen(placed)
    remote = source.tile != target.tile
    exchange = exchange_of(source.chosen(remote), target.tile[remote], hardware)
    contiguous = (np.abs(target.stride) == 1) | (target.count == 1)
    overlapping = np.isin(target.variable, np.unique(source.variable[remote]))
    buffered = remote & (~contiguous | (overlapping & (target.count > 1)))
    moved = buffered | ~remote
    arriving = target.chosen(moved)
    first = variables.first[arriving.variable]
    offset = (arriving.start - first) * arriving.element_bytes
    begin, words = (each[moved] for each in _stretches(target))
    stretches = Stretches((begin - first) * arriving.element_bytes, words)
    chip = hardware.chip
    vertices = copy_vertices(
        arriving, arriving.tile, offset, chip.worker_contexts, chip.memcpy_bytes_per_cycle, stretches
    )
    buffers = np.zeros(hardware.tiles, dtype=np.int64)
    np.add.at(buffers, target.tile[buffered], target.bytes[buffered])
    return CopyWork(exchange, vertices, buffers)


def _stretches(target: Pieces) -> tuple[Ints, Ints]:
    """The stretch of memory that each piece makes with its neighbours: its first element, and how many words it has."""
    near = (np.abs(target.stride) == 1) | (target.count == 1)
    low = np.minimum(target.start, target.start + (target.count - 1) * target.stride)
    order = np.lexsort((low, target.tile, ~near))
    start, end, tile = low[order], (low + target.count)[order], target.tile[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = ~near[order][1:] | (tile[1:] != tile[:-1]) | (start[1:] != end[:-1])
    number = np.cumsum(new) - 1
    begin, words = np.empty_like(low), np.empty_like(low)
    begin[order] = start[new][number]
    size = np.bincount(number, weights=target.bytes[order]).astype(np.int64)
    words[order] = -(-size // WORD_BYTES)[number]
    return begin, words


def copy_set(name: str, vertices: Sequence[CopyVertices], hardware: PlacedHardware) -> ModelledSet:
    """The vertices of copies as a compute set."""
    tile = np.concatenate([np.zeros(0, dtype=np.int64), *(each.tile for each in vertices)])
    cycles = np.concatenate([np.zeros(0), *(each.cycles for each in vertices)])
    later = np.concatenate([np.zeros(0, dtype=np.bool_), *(each.later for each in vertices)])
    tiles = np.unique(tile)
    busy, lasts = np.zeros(len(tiles)), np.zeros(len(tiles))
    for wave in (~later, later):
        found = worker_cycles(tile[wave], cycles[wave], hardware.chip.worker_contexts)
        at = np.searchsorted(tiles, found.tiles)
        busy[at] += found.busy
        lasts[at] += found.cycles
    kinds: dict[str, VertexGroup] = {}
    for type_ in sorted({each.type for each in vertices}):
        mine = [each for each in vertices if each.type == type_]
        theirs = np.concatenate([each.tile for each in mine])
        if len(theirs):
            total = float(sum(each.cycles.sum() for each in mine))
            kinds[type_] = VertexGroup(len(theirs), len(np.unique(theirs)), total, COPY_SOURCE)
    return ModelledSet(name, kinds, tiles, lasts, busy)
