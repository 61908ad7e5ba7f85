"""A user's vertex over a grid: halos exchanged, arranged on the tile, then every worker sweeps its piece.

Phases are named as in the profiles of thorbenlouw/lbm-graphcore on Mk1, which published their cycles:
"pre" (copies on the tile before the exchange), "exchange", "global exchange" (halos between chips), "post"
(copies after it) and "compute". Instructions of a vertex are counted (`stencil_vertex`); what a compiler makes of a
loop differs by a fifth, so `cycles_per_vector` of the work overrides the count.
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
from tremula.plan.stencil_halo import (
    copies,
    crossing_bytes,
    edge_bytes,
    exchange_phase_cycles,
    global_exchange_cycles,
    global_sync_cycles,
    neighbours,
    point_bytes,
)
from tremula.plan.stencil_partition import Partition, Shape, candidate_partitions, partition
from tremula.plan.stencil_vertex import cycles_per_vector, flops_per_value, sweep_cycles
from tremula.program.work import Stencil

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: the figure of a plan that says how many points of the grid the fullest tile holds
POINTS_ON_TILE = "points on the fullest tile"
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
    edge_bytes: int
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
            flops=values * flops_per_value(work),
        ),
    ]
    crossing = crossing_bytes(work, cut)
    if work.ipus > 1:
        # all chips agree before halos cross and once more when they have arrived
        sync = 2 * global_sync_cycles(chip, work.ipus)
        cycles = global_exchange_cycles(work, cut, next(cut.blocks()), chip)
        steps.insert(2, Superstep("global exchange", exchange_cycles=cycles, sync_cycles=sync, tiles=tiles))
    return Cost(
        supersteps=tuple(steps),
        bytes=Bytes(
            temporary=phases.copied_bytes,
            vertex_code=chip.instruction_bytes * (work.points * 4 + 64),
            vertex_state=work.compute_sets * (6 * 4 * chip.worker_contexts + phases.edge_bytes),
            exchange_code=work.compute_sets
            * exchange_code_bytes(phases.received_bytes, chip, phases.fragments),
            control_code=work.compute_sets * 16 * chip.instruction_bytes,
        ),
        why=Why(
            plan=_name(cut, work),
            formula=(
                "compute: workers x (entry + rows x row start + vectors x cycles per vector); copies: fixed + "
                "rows x 6 + bytes / copy width; exchange: bytes / width + instructions per piece + latency"
            ),
            source=SOURCE,
            figures={
                "cycles per vector": cycles_per_vector(work, chip),
                POINTS_ON_TILE: float(math.prod(next(cut.blocks()))),
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
        edge_bytes=max(tile.edge_bytes for tile in tiles),
        received_bytes=max(tile.received_bytes for tile in tiles),
        fragments=fragments,
    )


def _tile(work: Stencil, cut: Partition, block: Shape, chip: Chip) -> _Phases:
    """Phases of the tile that holds `block`, by the best of the ways its contexts may share it."""
    # neighbours on each side, as far as the grid is cut at all
    sides = [min(2, c * t - 1) * work.radius for c, t in zip(cut.chips, cut.tiles, strict=True)]
    with_halo = [extent + s for extent, s in zip(block, sides, strict=True)]
    received = (math.prod(with_halo) - math.prod(block)) * point_bytes(work)
    inner_rows = math.prod(block[:-1])
    fragments = (
        math.prod(with_halo[:-1]) - inner_rows + inner_rows * min(2, cut.chips[-1] * cut.tiles[-1] - 1)
    )
    if work.shifted:
        # of each row of results and of what is read with them, one end comes from the next tile or goes to it
        moved = inner_rows * (work.own_fields + 1)
        fragments += moved
        received += moved * point_bytes(work)
    ways = (
        (sweep_cycles(work, pieces, chip), *copies(work, block, pieces, received, chip), pieces)
        for pieces in cut.pieces(block, chip.worker_contexts)
    )
    compute, pre, post, copied, pieces = min(ways, key=lambda way: sum(way[:3]))
    return _Phases(
        pre=pre,
        exchange=0.0,
        post=post,
        compute=compute,
        mean_compute=0.0,
        copied_bytes=copied,
        edge_bytes=edge_bytes(work, pieces),
        received_bytes=received,
        fragments=fragments,
    )
