"""Reductions: on each tile first, then partial results sent together, in one more stage or two.

Of an array (outer, reduced, inner) each output's elements are cut into `pieces` that lie on different tiles.
PopLibs takes the layout that it is given; here the layout is the one under which the whole is fastest, as the
ops before it mostly leave it. Few pieces leave tiles idle, many make partial results travel: the planner tries
them all. Whether the partial results meet at once or in two steps follows ReductionPlan.cpp.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tremula.hardware.chip import Chip
from tremula.invariants import present
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Cost, Superstep, Why
from tremula.plan.elementwise import nothing_to_do
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.plan.reduction_vertices import SOURCE, contiguous_cycles, partials_type, strided_cycles
from tremula.plan.spread import ceil_div
from tremula.program.dtypes import item_bytes
from tremula.program.work import Reduction

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: operations that bring a place along with each value
_WITH_PLACE = frozenset({"argmax", "argmin", "max_class", "min_class"})
#: below so many partial results per output a stage more cannot pay for its sync
_FEW_PIECES = 16
#: cycles that no vertex which joins partial results is below
_LEAST_JOIN = 6 * 28


class _Stage(NamedTuple):
    name: str
    compute: float
    received: float
    fragments: int
    exchange: float
    tiles: int
    balance: float
    #: bytes of the partial results that the stage leaves on a tile
    left: float


class _Option(NamedTuple):
    cycles: float
    pieces: int
    stages: tuple[_Stage, ...]


@lru_cache(maxsize=64)
def _candidates(tiles: int) -> tuple[int, ...]:
    """Numbers of pieces to try, a fixed ladder up to the number of tiles."""
    ladder = {1, 2, 3, 4, 6, tiles}
    step = 8.0
    while step < tiles:
        ladder.add(round(step))
        step *= 1.3
    return tuple(sorted(ladder))


def plan_reduction(work: Reduction, planner: Planner) -> Cost:
    """The fastest way to cut and join."""
    chip = planner.chip
    outputs = work.outer * work.inner
    if outputs * work.reduced <= 0:
        return nothing_to_do("reduction")
    best, others = _search(work, chip)
    first = best.stages[0]
    received = max(stage.received for stage in best.stages)
    return Cost(
        supersteps=tuple(
            Superstep(
                stage.name,
                compute_cycles=stage.compute,
                exchange_cycles=stage.exchange,
                sync_cycles=chip.sync_cycles,
                tiles=stage.tiles,
                balance=stage.balance,
                flops=_flops(work) if stage is first else 0.0,
            )
            for stage in best.stages
        ),
        bytes=compute_set_bytes(
            "reduce",
            chip,
            edges=3,
            vertices=min(chip.worker_contexts, 6),
            temporary=received + max((stage.left for stage in best.stages[:-1]), default=0.0),
            exchange_code=sum(
                exchange_code_bytes(stage.received, chip, stage.fragments) for stage in best.stages
            ),
            compute_sets=len(best.stages),
        ),
        why=Why(
            plan=(
                f"{work.operation} over {work.reduced} for {outputs} outputs: {best.pieces} pieces each, "
                f"{len(best.stages)} stage{'s' if len(best.stages) > 1 else ''}, {first.tiles} tiles"
            ),
            formula="per stage: exchange of partial results + workers x vertex cycles + sync",
            source=SOURCE,
            figures={
                "pieces": best.pieces,
                "stages": len(best.stages),
                "bytes received": received,
                "cycles": best.cycles,
            },
            alternatives=tuple(
                Alternative(f"{option.pieces} pieces, {len(option.stages)} stages", option.cycles, "slower")
                for option in others[:3]
            ),
        ),
    )


def _flops(work: Reduction) -> float:
    per_element = 2 if work.operation == "square_add" else 1
    return float(per_element * work.outer * work.inner * max(0, work.reduced - 1))


def _search(work: Reduction, chip: Chip) -> tuple[_Option, list[_Option]]:
    """The fastest option, and the others that were worked out to the end."""
    # near the number of pieces that fills the chip the best is found early, and most others need no second look
    groups = max(1, work.outer * ceil_div(work.inner, min(work.inner, chip.vector_width(work.dtype))))
    full = max(1.0, chip.tiles / groups)
    best: _Option | None = None
    others: list[_Option] = []
    ladder = _candidates(chip.tiles)
    # single elements cannot be cut further
    ladder = ladder[: bisect_left(ladder, work.reduced) + 1]
    joining = 2 * chip.sync_cycles + chip.exchange_latency_cycles + _LEAST_JOIN
    for pieces in sorted(ladder, key=lambda pieces: abs(math.log(pieces / full))):
        first = _on_tile(work, pieces, chip)
        if best is not None and first.compute + (joining if pieces > 1 else chip.sync_cycles) >= best.cycles:
            continue
        stages = (first,) if pieces == 1 else (first, *_joined(work, pieces, chip))
        option = _Option(_cycles(stages, chip), pieces, stages)
        if best is None or option.cycles < best.cycles:
            if best is not None:
                others.append(best)
            best = option
        else:
            others.append(option)
    return present(best, "a plan of a reduction"), sorted(others, key=lambda option: option.cycles)


def _on_tile(work: Reduction, pieces: int, chip: Chip) -> _Stage:
    """The first stage when each output's elements lie on `pieces` tiles."""
    outputs = work.outer * work.inner
    depth = ceil_div(work.reduced, pieces)
    # columns stay together in words of the data path
    grain = min(work.inner, chip.vector_width(work.dtype))
    groups = work.outer * ceil_div(work.inner, grain)
    groups_here = ceil_div(groups * pieces, chip.tiles)
    here = min(groups_here * grain, outputs)
    vertex = contiguous_cycles if work.inner == 1 else strided_cycles
    used = min(chip.tiles, ceil_div(groups * pieces, groups_here))
    return _Stage(
        "reduce on tile",
        vertex(here, depth, work.dtype, work.operation, chip),
        0.0,
        1,
        0.0,
        used,
        min(1.0, outputs * work.reduced / (used * here * depth)),
        float(here * _partial_bytes(work)),
    )


def _partial_bytes(work: Reduction) -> int:
    """Bytes of one partial result, with its place if it has one."""
    return item_bytes(partials_type(work.operation, work.dtype)) + (4 if work.operation in _WITH_PLACE else 0)


def _joined(work: Reduction, pieces: int, chip: Chip) -> tuple[_Stage, ...]:
    """The stages that bring `pieces` partial results of each output together: one or two."""
    outputs = work.outer * work.inner
    then = "add" if work.operation == "square_add" else work.operation
    dtype, size = partials_type(work.operation, work.dtype), _partial_bytes(work)
    at_once = (_join(outputs, pieces, then, dtype, size, chip),)
    if pieces < _FEW_PIECES:
        return at_once
    between = math.isqrt(pieces - 1) + 1
    in_two = (
        _join(outputs * between, ceil_div(pieces, between), then, dtype, size, chip),
        _join(outputs, between, then, dtype, size, chip),
    )
    return min(at_once, in_two, key=lambda joined: _cycles(joined, chip))


def _cycles(stages: tuple[_Stage, ...], chip: Chip) -> float:
    return sum(stage.compute + stage.exchange + chip.sync_cycles for stage in stages)


def _join(outputs: int, depth: int, operation: str, dtype: str, size: int, chip: Chip) -> _Stage:
    """Partial results of `depth` tiles brought together, the outputs spread over all tiles."""
    grain = min(outputs, chip.vector_width(dtype))
    here = min(outputs, ceil_div(ceil_div(outputs, grain), chip.tiles) * grain)
    tiles = ceil_div(outputs, here)
    received = float(here * depth * size)
    return _Stage(
        "join partial results",
        strided_cycles(here, depth, dtype, operation, chip),
        received,
        depth,
        exchange_cycles(received, chip, depth),
        tiles,
        outputs / (tiles * here),
        float(here * size),
    )
