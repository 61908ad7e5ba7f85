"""The halos of a grid's blocks: what comes from which neighbour, how long it takes, and copies around it."""

from __future__ import annotations

import itertools
import math

from tremula.hardware.chip import Chip
from tremula.plan.exchange import control_cycles
from tremula.plan.exchange_schedule import Neighbour, slowest_cycles
from tremula.plan.stencil_partition import Partition, Pieces, Shape
from tremula.program.dtypes import item_bytes
from tremula.program.work import Stencil

#: cycles of a copy for each separate row; 9.6, 9.7, 11.4 and 10.5 in the profile of a blur (stencil_mk1_cycles-004,
#: -014, -020, -026, whose slowest tiles copy 282 and 66 rows)
CYCLES_PER_COPIED_ROW = 10
#: cycles of gathering small pieces, whatever their number (PopLibs ConvModel.cpp, regression of copies),
#: and for each byte in pieces of a word (the same)
GATHER_CYCLES = 587
GATHER_CYCLES_PER_BYTE = 3.125

#: bytes of a vertex's state for one vector that it is given: a pointer and a length (poplar VectorLayout::SPAN)
EDGE_BYTES = 8

#: seconds until the first byte between chips arrives (data/machines), cycles of a tile for each separate piece that it
#: sends to another chip (schedule/constants.py)
LINK_LATENCY_SECONDS = 1e-6
PIECE_CYCLES = 220.0
#: usable bytes per second of one link in one direction, links from one rung of the ladder to the next (data/machines)
LINK_BYTES_PER_SECOND = 128 * 1024**3 / 8 * 0.85
LINKS = 2
#: more pieces than this are gathered on the tile before they cross: an assumption. A column of 209 points went piece by
#: piece (heat equation on eight IPUs), faces of 450 and more did not
MOST_PIECES = 256


def point_bytes(work: Stencil) -> int:
    """Bytes of one grid point."""
    return item_bytes(work.dtype) * work.values


def neighbours(work: Stencil, cut: Partition, block: Shape, chip: Chip) -> list[Neighbour]:
    """The neighbours of a block and the words from each: its side, or its corner, as deep as the radius.

    Vertices of published codes are given the whole box around their block, so corners are exchanged even where the
    arithmetic does not read them.
    """
    found = []
    for offset in itertools.product((-1, 0, 1), repeat=len(block)):
        apart = zip(offset, cut.chips, cut.tiles, strict=True)
        if not any(offset) or any(o and c * t == 1 for o, c, t in apart):
            continue
        points = math.prod(work.radius if o else extent for o, extent in zip(offset, block, strict=True))
        found.append((offset, math.ceil(points * point_bytes(work) / chip.exchange_bytes_per_cycle)))
    return found


def exchange_phase_cycles(around: list[Neighbour], cut: Partition, fragments: int, chip: Chip) -> float:
    """Cycles of the exchange on the slowest tile.

    Each piece takes one instruction of its sender, for it has its own address there; the receiver's pointer moves on by
    itself, and changes with the neighbour. The instructions run beside the words, so the longer of the two counts.
    """
    if not around:
        return 0.0
    words = slowest_cycles(cut.tiles, around)
    instructions = fragments + control_cycles(chip, len(around))
    return max(words, float(instructions)) + chip.exchange_latency_cycles


def copies(
    work: Stencil, block: Shape, pieces: Pieces, received: int, chip: Chip
) -> tuple[float, float, int]:
    """Cycles of the copies on a tile before and after the exchange, and the bytes that are copied.

    With halos apart, a context reads its part of the block where it lies if that is whole rows of the block, and from a
    copy, as its results go into one, if rows are cut. With halos in the same rows all rows are copied once, results
    are not, unless they are shifted against the blocks on the tiles.
    """
    gather = GATHER_CYCLES + received / chip.exchange_bytes_per_cycle if received else 0.0
    around = 0 if work.halos_apart else 2 * work.radius
    # a row that is a vector of its own lies there once, however many contexts read it; blocks are each context's own
    given = [(block, 1)] if work.row_edges else pieces
    rows, size = _rows_and_bytes(work, given, around)
    bulk = _copy_cycles(rows, size, chip)
    if not work.halos_apart:
        if not work.shifted:
            return gather, bulk, size
        # what is read at the point itself is copied before, results after
        own = _rows_and_bytes(work, [(block, 1)], 0)
        fields = work.own_fields + 1
        return gather, bulk + fields * _copy_cycles(*own, chip), size + fields * own[1]
    if all(piece[1:] == block[1:] for piece, _ in pieces):
        return gather, 0.0, 0
    return gather + bulk, bulk, size


def _rows_and_bytes(work: Stencil, pieces: Pieces, around: int) -> tuple[int, int]:
    """Rows of some pieces, each with so many points around it, and the bytes in them."""
    rows = sum(count * math.prod(extent + around for extent in piece[:-1]) for piece, count in pieces)
    points = sum(count * math.prod(extent + around for extent in piece) for piece, count in pieces)
    return rows, points * point_bytes(work)


def _copy_cycles(rows: int, size: int, chip: Chip) -> float:
    return rows * CYCLES_PER_COPIED_ROW + size / chip.memcpy_bytes_per_cycle


def edge_bytes(work: Stencil, pieces: Pieces) -> int:
    """Bytes of the vertices' state on a tile for the rows that they are given and write."""
    if not work.row_edges:
        return 0
    read, _ = _rows_and_bytes(work, pieces, 2 * work.radius)
    own, _ = _rows_and_bytes(work, pieces, 0)
    return EDGE_BYTES * (read + (work.own_fields + 1) * own)


def crossing_bytes(work: Stencil, cut: Partition) -> int:
    """Bytes of one step over the busiest link between chips in one direction.

    Chips are numbered in the order of the grid and stand on a ladder, two to a rung: a neighbour along an
    outer dimension is `stride / 2` rungs away, and that many halos share a link.
    """
    size = point_bytes(work) * work.radius
    extents = cut.chip_extents
    total, stride = 0, 1
    for d in reversed(range(len(extents))):
        if cut.chips[d] > 1:
            face = math.prod(extents) // extents[d] * size
            total += face * max(1, stride // 2)
        stride *= cut.chips[d]
    return total


def crossing_pieces(work: Stencil, cut: Partition, block: Shape) -> int:
    """Separate pieces that come to the busiest tile from other chips: rows of faces, corners with them."""
    total = 0
    for d in range(len(block)):
        if cut.chips[d] == 1:
            continue
        face = [
            e + 2 * work.radius * (c * t > 1) for e, c, t in zip(block, cut.chips, cut.tiles, strict=True)
        ]
        face[d] = work.radius
        rows = math.prod(face[:-1])
        # along a row, what comes from the tiles beside the neighbour is apart
        along = 1 if d == len(block) - 1 or face[-1] == block[-1] else 3
        total += rows * along
    return total


def global_exchange_cycles(work: Stencil, cut: Partition, block: Shape, chip: Chip) -> float:
    """Cycles in which halos cross between chips: latency, pieces of the busiest tile, bytes on the busiest links."""
    pieces = crossing_pieces(work, cut, block)
    issue = pieces * PIECE_CYCLES
    if pieces > MOST_PIECES:
        size = pieces * work.radius * point_bytes(work)
        issue = GATHER_CYCLES + GATHER_CYCLES_PER_BYTE * size + PIECE_CYCLES
    seconds = LINK_LATENCY_SECONDS + crossing_bytes(work, cut) / (LINKS * LINK_BYTES_PER_SECOND)
    return seconds * chip.clock_hz + issue


def global_sync_cycles(chip: Chip, chips: int) -> float:
    """Cycles for all chips to agree: 15 ns per hop there and back (PopLibs lib/poplibs_test/Util.cpp)."""
    return float(math.ceil(15e-9 * chip.clock_hz * 2 * (1 + chips / 2 / 2)))
