"""A user's vertex over a grid: halos exchanged, arranged on the tile, then every worker sweeps its piece.

Phases are named as in the profiles of thorbenlouw/lbm-graphcore on Mk1, which published their cycles:
"pre" (copies on the tile before the exchange), "exchange", "global exchange" (halos between chips), "post"
(copies after it) and "compute". Instructions of a vertex are counted; what a compiler makes of a loop differs
by a fifth, so `cycles_per_vector` of the work overrides the count.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tremula.errors import Error
from tremula.hardware.chip import Chip
from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes
from tremula.plan.stencil_halo import exchange_phase_cycles, neighbours
from tremula.plan.stencil_partition import Partition, Pieces, Shape, candidate_partitions, partition
from tremula.program.dtypes import item_bytes
from tremula.program.work import Stencil

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: instructions of a compiled vertex per vector of results besides loads and arithmetic: loop and its pointers
LOOP_INSTRUCTIONS = 2
#: more of them for fp16: constants are splatted anew (fitted: stencil_mk1_cycles-005)
HALF_INSTRUCTIONS = 4
#: instructions before the first row and after the last: entry, vertex state, return (fitted: as above)
VERTEX_INSTRUCTIONS = 40

#: cycles of one copy on a tile whatever its size (osmarks/ipu-stack)
COPY_CYCLES = 288
#: cycles of a copy for each separate row: one turn of all contexts (fitted: stencil_mk1_cycles-004, -014)
CYCLES_PER_COPIED_ROW = 6
#: cycles of gathering what leaves the tile, whatever its size (PopLibs ConvModel.cpp, regression of copies)
GATHER_CYCLES = 587

#: seconds until the first byte between chips arrives, and the share of the link's rate that short pieces
#: reach (both fitted: stencil_mk1_cycles-017 and -023)
CHIP_LATENCY_SECONDS = 1.26e-6
CHIP_LINK_EFFICIENCY = 0.6
#: usable bytes per second of one link in one direction (PopLibs lib/poplibs_test/Util.cpp)
LINK_BYTES_PER_SECOND = 128 * 1024**3 / 8 * 0.85
#: links between neighbours of the ladder (PopLibs lib/poplibs_test/Util.cpp)
LINKS = 2

#: how a grid may be cut
RULES = ("auto", "blocks", "factors", "best")
SOURCE = (
    "partitions and phases: thorbenlouw/lbm-graphcore and simehaa/IPU; copies: osmarks/ipu-stack, PopLibs; "
    "instructions counted"
)


@dataclass(frozen=True)
class _Phases:
    pre: float
    exchange: float
    post: float
    compute: float
    mean_compute: float
    copied_bytes: int
    received_bytes: int
    fragments: int

    @property
    def cycles(self) -> float:
        return self.pre + self.exchange + self.post + self.compute


def plan_stencil(work: Stencil, planner: Planner) -> Cost:
    """One application of the vertex to the whole grid."""
    chip = planner.chip
    _check(work)
    rule = work.partition
    if rule == "auto":
        rule = "blocks" if len(work.grid) < 3 else "factors"
    if rule == "best":
        choices = candidate_partitions(work.grid, chip.tiles, work.ipus, work.smallest_block)
    else:
        choices = [partition(work.grid, chip.tiles, work.ipus, rule, work.smallest_block)]
    measured = [(_phases(work, choice, chip), choice) for choice in choices]
    measured.sort(key=lambda pair: pair[0].cycles)
    phases, cut = measured[0]
    rejected = tuple(
        Alternative(_name(other, work), p.cycles, "more cycles") for p, other in measured[1:4] if p != phases
    )
    return _cost(work, chip, cut, phases, rejected)


def _check(work: Stencil) -> None:
    if work.partition not in RULES:
        raise Error(f"A stencil's partition is {work.partition!r}; it can be one of {', '.join(RULES)}.")
    if not work.grid or min(work.grid) < 1:
        raise Error(f"A stencil's grid is {work.grid}; every extent must be at least 1.")
    if work.smallest_block is not None and len(work.smallest_block) != len(work.grid):
        raise Error(
            f"The smallest block {work.smallest_block} of a stencil must have as many extents as its grid "
            f"{work.grid}."
        )


def _cost(
    work: Stencil, chip: Chip, cut: Partition, phases: _Phases, rejected: tuple[Alternative, ...]
) -> Cost:
    tiles = cut.tiles_per_chip * math.prod(cut.chips)
    values = math.prod(work.grid) * work.values
    steps = [
        Superstep("pre", compute_cycles=phases.pre, tiles=tiles),
        Superstep("exchange", exchange_cycles=phases.exchange, sync_cycles=chip.sync_cycles, tiles=tiles),
        Superstep("post", compute_cycles=phases.post, tiles=tiles),
        Superstep(
            "compute",
            compute_cycles=phases.compute,
            tiles=tiles,
            balance=phases.mean_compute / phases.compute,
            flops=values * _flops(work),
        ),
    ]
    crossing = crossing_bytes(work, cut)
    if work.ipus > 1:
        # all chips agree before halos cross and once more when they have arrived
        sync = 2 * global_sync_cycles(chip, work.ipus)
        cycles = global_exchange_cycles(chip, crossing)
        steps.insert(2, Superstep("global exchange", exchange_cycles=cycles, sync_cycles=sync, tiles=tiles))
    return Cost(
        supersteps=tuple(steps),
        bytes=Bytes(
            temporary=phases.copied_bytes,
            vertex_code=chip.instruction_bytes * (work.points * 4 + 64),
            vertex_state=6 * 4 * chip.worker_contexts,
            exchange_code=exchange_code_bytes(phases.received_bytes, chip, phases.fragments),
            control_code=16 * chip.instruction_bytes,
        ),
        why=Why(
            plan=_name(cut, work),
            formula=(
                "compute: workers x (entry + rows x row start + vectors x cycles per vector); copies: fixed + "
                "rows x 6 + bytes / copy width; exchange: bytes / width + instructions per piece + latency"
            ),
            source=SOURCE,
            figures={
                "cycles per vector": cycles_per_vector(work),
                "halo bytes per tile": float(phases.received_bytes),
                "halo pieces per tile": float(phases.fragments),
                "copied bytes per tile": float(phases.copied_bytes),
                "bytes over the busiest chip link": float(crossing),
            },
            alternatives=rejected,
        ),
    )


def _name(cut: Partition, work: Stencil) -> str:
    block = " x ".join(str(extent) for extent in next(cut.blocks()))
    tiles = " x ".join(str(part) for part in cut.tiles)
    chips = f" on {' x '.join(str(part) for part in cut.chips)} chips" if work.ipus > 1 else ""
    return f"blocks of at most {block} points on {tiles} tiles{chips}"


def _flops(work: Stencil) -> float:
    return work.points + 1 if work.flops_per_value is None else work.flops_per_value


def cycles_per_vector(work: Stencil) -> float:
    """Instructions of one worker for one vector of results: loads, arithmetic, store, loop."""
    if work.cycles_per_vector is not None:
        return work.cycles_per_vector
    cycles = work.points + _flops(work) + 1 + LOOP_INSTRUCTIONS
    if work.vector > work.values:
        # the vector spans neighbouring points: one sum and the store fall apart into single elements
        cycles += 2
    if item_bytes(work.dtype) < 4:
        cycles += HALF_INSTRUCTIONS
    return cycles


def _phases(work: Stencil, cut: Partition, chip: Chip) -> _Phases:
    """Phases of the slowest tile; each phase has its own."""
    # where the best of all ways is taken, no block is slower than the largest
    blocks = itertools.islice(cut.blocks(), 1) if cut.rule == "best" else cut.blocks()
    tiles = [_tile(work, cut, block, chip) for block in blocks]
    slowest = max(tiles, key=lambda tile: tile.compute)
    largest = next(cut.blocks())
    fragments = max(tile.fragments for tile in tiles)
    mean_points = math.prod(cut.chip_extents) / cut.tiles_per_chip
    most_points = math.prod(largest)
    return replace(
        slowest,
        pre=max(tile.pre for tile in tiles),
        exchange=exchange_phase_cycles(neighbours(work, cut, largest, chip), cut, fragments, chip),
        post=max(tile.post for tile in tiles),
        mean_compute=slowest.compute * min(1.0, mean_points / most_points),
        copied_bytes=max(tile.copied_bytes for tile in tiles),
        received_bytes=max(tile.received_bytes for tile in tiles),
        fragments=fragments,
    )


def _tile(work: Stencil, cut: Partition, block: Shape, chip: Chip) -> _Phases:
    """Phases of the tile that holds `block`, by the best of the ways its contexts may share it."""
    size = item_bytes(work.dtype) * work.values
    # neighbours on each side, as far as the grid is cut at all
    sides = [min(2, c * t - 1) * work.radius for c, t in zip(cut.chips, cut.tiles, strict=True)]
    with_halo = [extent + s for extent, s in zip(block, sides, strict=True)]
    received = (math.prod(with_halo) - math.prod(block)) * size
    inner_rows = math.prod(block[:-1])
    fragments = (
        math.prod(with_halo[:-1]) - inner_rows + inner_rows * min(2, cut.chips[-1] * cut.tiles[-1] - 1)
    )
    gather = GATHER_CYCLES + received / chip.exchange_bytes_per_cycle if received else 0.0
    ways = (_sweep(work, pieces, chip) for pieces in cut.pieces(block, chip.worker_contexts))
    compute, copy, copied = min(ways, key=lambda way: way[0] + 2 * way[1])
    return _Phases(
        pre=copy + gather,
        exchange=0.0,
        post=copy,
        compute=compute,
        mean_compute=0.0,
        copied_bytes=copied,
        received_bytes=received,
        fragments=fragments,
    )


def _sweep(work: Stencil, pieces: Pieces, chip: Chip) -> tuple[float, float, int]:
    """Cycles of the vertices, cycles of one copy of what they read, and the bytes of that copy."""
    size = item_bytes(work.dtype) * work.values
    around = 2 * work.radius
    per_vector = cycles_per_vector(work)
    slowest, points, copied_rows = 0.0, 0, 0
    for piece, count in pieces:
        rows = math.prod(piece[:-1])
        vectors = -(-piece[-1] * work.values // work.vector)
        # each row starts with a pointer for every point of the neighbourhood
        slowest = max(slowest, VERTEX_INSTRUCTIONS + rows * (work.points + vectors * per_vector))
        padded = [extent + around for extent in piece]
        points += count * math.prod(padded)
        copied_rows += count * math.prod(padded[:-1])
    copy = COPY_CYCLES + copied_rows * CYCLES_PER_COPIED_ROW + points * size / chip.memcpy_bytes_per_cycle
    return chip.worker_contexts * slowest, copy, points * size


def crossing_bytes(work: Stencil, cut: Partition) -> int:
    """Bytes of one step over the busiest link between chips in one direction.

    Chips are numbered in the order of the grid and stand on a ladder, two to a rung: a neighbour along an
    outer dimension is `stride / 2` rungs away, and that many halos share a link.
    """
    size = item_bytes(work.dtype) * work.values * work.radius
    extents = cut.chip_extents
    total, stride = 0, 1
    for d in reversed(range(len(extents))):
        if cut.chips[d] > 1:
            face = math.prod(extents) // extents[d] * size
            total += face * max(1, stride // 2)
        stride *= cut.chips[d]
    return total


def global_exchange_cycles(chip: Chip, crossing: float) -> float:
    """Cycles in which halos cross between chips."""
    rate = LINKS * LINK_BYTES_PER_SECOND * CHIP_LINK_EFFICIENCY
    return (CHIP_LATENCY_SECONDS + crossing / rate) * chip.clock_hz


def global_sync_cycles(chip: Chip, chips: int) -> float:
    """Cycles for all chips to agree: 15 ns per hop there and back (PopLibs lib/poplibs_test/Util.cpp)."""
    return float(math.ceil(15e-9 * chip.clock_hz * 2 * (1 + chips / 2 / 2)))
