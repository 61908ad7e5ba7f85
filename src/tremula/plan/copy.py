"""Copies and constants: data that comes to lie elsewhere, on its tile or on another.

Between tiles the exchange writes straight into place if pieces are whole words; many small pieces make its control
code the bottleneck, and then it is faster to bring them into order on the tile first and exchange long runs.
Constants are written by one pass of stores (PopLibs popops/PerformanceEstimation.cpp).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tremula.hardware.chip import Chip
from tremula.plan import exchange, rearrange
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Cost, Superstep, Why
from tremula.plan.elementwise import nothing_to_do
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.plan.rearrange import rearrange_cycles
from tremula.plan.spread import Share, ceil_div, spread
from tremula.program.dtypes import item_bytes
from tremula.program.work import Copy, Fill

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: shorter pieces are brought into order on a tile first: profiles of image filters, whose pixels are pieces of 8 and
#: 16 bytes, show copies before and after each exchange (thorbenlouw/lbm-graphcore)
_SHORTEST_PIECE = 32

SOURCE = f"{exchange.SOURCE}; {rearrange.SOURCE}"


def plan_copy(work: Copy, planner: Planner) -> Cost:
    """Direct exchange, or exchange of runs that were brought into order before."""
    chip = planner.chip
    share = spread(work.elements, work.dtype, chip)
    if share.elements == 0:
        return nothing_to_do("copy")
    size = item_bytes(work.dtype)
    here = share.elements * size
    run = max(1, min(work.contiguous, share.elements)) * size
    ordering = _step("bring into order", share, chip, compute=rearrange_cycles(here, run, chip))
    if not work.between_tiles:
        return _cost((ordering,), chip, 0, 1, f"on {share.tiles} tiles, {here} B each in runs of {run} B")
    fragments = ceil_div(here, run)
    ordered = min(fragments, chip.tiles)
    moving = _step("exchange", share, chip, exchange=exchange_cycles(here, chip, ordered))
    direct = _step("exchange", share, chip, exchange=exchange_cycles(here, chip, fragments))
    through = ordering.cycles + moving.cycles
    # a lone piece is padded to whole words; pieces of half words would overwrite their neighbours
    whole = fragments == 1 or (run % chip.exchange_bytes_per_cycle == 0 and run >= _SHORTEST_PIECE)
    if whole and direct.cycles <= through:
        plan = f"straight exchange, {fragments} pieces of {run} B per tile on {share.tiles} tiles"
        other = Alternative("runs brought into order first", through, "slower")
        return _cost((direct,), chip, here, fragments, plan, (other,))
    plan = f"runs of {run} B brought into order, {ordered} pieces per tile exchanged on {share.tiles} tiles"
    reason = (
        "the instructions for so many pieces take longer" if whole else f"pieces of {run} B are too short"
    )
    other = Alternative("straight exchange", direct.cycles, reason)
    return _cost((ordering, moving), chip, here, ordered, plan, (other,))


def _step(name: str, share: Share, chip: Chip, compute: float = 0.0, exchange: float = 0.0) -> Superstep:
    return Superstep(
        name,
        compute_cycles=compute,
        exchange_cycles=exchange,
        sync_cycles=chip.sync_cycles,
        tiles=share.tiles,
        balance=share.balance,
    )


def _cost(
    steps: tuple[Superstep, ...],
    chip: Chip,
    exchanged: int,
    fragments: int,
    plan: str,
    alternatives: tuple[Alternative, ...] = (),
) -> Cost:
    copies = steps[0].compute_cycles > 0
    bytes_ = compute_set_bytes(
        "copy",
        chip,
        vertices=chip.worker_contexts if copies else 0,
        temporary=exchanged if copies else 0,
        exchange_code=exchange_code_bytes(exchanged, chip, fragments),
        compute_sets=len(steps),
    )
    return Cost(
        supersteps=steps,
        bytes=bytes_ if copies else replace(bytes_, vertex_code=0),
        why=Why(
            plan=plan,
            formula="max(words, 3 x pieces) + latency; on a tile: call + runs x cycles per run",
            source=SOURCE,
            figures={"bytes exchanged per tile": exchanged, "pieces": fragments},
            alternatives=alternatives,
        ),
    )


def fill_cycles(elements: int, dtype: str, chip: Chip) -> float:
    """Cycles of a tile that writes a constant; a vertex per worker."""
    per_worker = ceil_div(elements, chip.worker_contexts)
    size = item_bytes(dtype)
    if size == 8:
        worker: float = 5 + per_worker
    elif size == 1:
        worker = 28 + ceil_div(per_worker, 4) if per_worker < 64 else 39 + ceil_div(per_worker, 8)
    else:
        worker = (26 if size == 2 else 24) + ceil_div(per_worker, chip.data_path_bytes // size)
    return chip.worker_contexts * worker


def plan_fill(work: Fill, planner: Planner) -> Cost:
    """One pass of stores."""
    chip = planner.chip
    share = spread(work.elements, work.dtype, chip)
    if share.elements == 0:
        return nothing_to_do("fill")
    cycles = fill_cycles(share.elements, work.dtype, chip)
    return Cost(
        supersteps=(_step("fill", share, chip, compute=cycles),),
        bytes=compute_set_bytes("fill", chip, edges=1, vertices=chip.worker_contexts),
        why=Why(
            plan=f"fill on {share.tiles} tiles x {share.elements} elements",
            formula="workers x (setup + words stored)",
            source="PopLibs popops/PerformanceEstimation.cpp, getFill1DCycleEstimate",
            figures={"elements per tile": share.elements, "cycles": cycles},
        ),
    )
