"""Copies between elements: matched piece by piece, exchanged where the tile changes, and put in place.

Elements that stay on their tile are copied by vertices. Those that come from other tiles are received in place, unless
the place is not contiguous, or the variable is both read and written by the same exchange: then they are received in a
buffer and copied. Single elements are always received in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tremula.placed.copy_vertices import CopyVertices, copy_vertices
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
    offset = (arriving.start - variables.first[arriving.variable]) * arriving.element_bytes
    vertices = copy_vertices(
        arriving, arriving.tile, offset, hardware.chip.worker_contexts, hardware.chip.memcpy_bytes_per_cycle
    )
    buffers = np.zeros(hardware.tiles, dtype=np.int64)
    np.add.at(buffers, target.tile[buffered], target.bytes[buffered])
    return CopyWork(exchange, vertices, buffers)


def copy_set(name: str, vertices: Sequence[CopyVertices], hardware: PlacedHardware) -> ModelledSet:
    """The vertices of copies as a compute set."""
    tile = np.concatenate([np.zeros(0, dtype=np.int64), *(each.tile for each in vertices)])
    cycles = np.concatenate([np.zeros(0), *(each.cycles for each in vertices)])
    found = worker_cycles(tile, cycles, hardware.chip.worker_contexts)
    kinds = {
        each.type: VertexGroup(
            len(each.tile), len(np.unique(each.tile)), float(each.cycles.sum()), COPY_SOURCE
        )
        for each in vertices
        if len(each.tile)
    }
    return ModelledSet(name, kinds, found.tiles, found.cycles, found.busy)
