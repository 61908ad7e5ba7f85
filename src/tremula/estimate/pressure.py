"""Plans under memory pressure: estimates a program that is too large with smaller plans for some ops.

The user's proportion bounds the temporaries of a plan, whatever else is on the tile. Where a program does not fit with
that, each product that runs at a moment with too little room is planned again within the room that is left there:
with splits over time, which cost time. Plans change code, and what is left with it, so this is repeated until the
program fits or nothing changes, three times at most. A user does the same by lowering availableMemoryProportion until
the program compiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tremula.hardware.chip import Chip
from tremula.memory.categories import GAP_SHARE, Category
from tremula.memory.fit import MemoryReport, memory_report
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.program import Program
from tremula.program.work import PLANNED, Work
from tremula.schedule.bsp import OpCosts, op_costs
from tremula.schedule.deployment import Deployment
from tremula.schedule.recompute import Recomputation

_ROUNDS = 3
#: proportions that are tried, so that ops of one shape share a plan; below the last there is room for operands only
_SHARES = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03)


@dataclass(frozen=True)
class Pressure:
    """A program whose plans were bounded by the memory that is left."""

    program: Program
    costs: OpCosts
    memory: MemoryReport
    #: IPU -> the smallest proportion that its ops were planned with
    proportions: Mapping[int, float]
    #: ops that have another plan
    ops: int

    @property
    def fits(self) -> bool:
        """Whether every tile has room now."""
        return self.memory.max_tile_bytes <= self.memory.tile_memory_bytes

    def in_words(self) -> str:
        """What was changed, and whether that is enough."""
        shares = ", ".join(f"{share:.2f} on IPU {ipu}" for ipu, share in sorted(self.proportions.items()))
        filled = self.memory.max_tile_bytes / self.memory.tile_memory_bytes
        end = (
            "times are of these plans"
            if self.fits
            else "that is not enough; times are of the plans as configured"
        )
        return (
            f"with availableMemoryProportion lowered to {shares} ({self.ops} ops planned again) the fullest tile would "
            f"hold {filled:.0%}; {end}"
        )


def under_pressure(
    program: Program,
    costs: OpCosts,
    memory: MemoryReport,
    again: Recomputation,
    deployment: Deployment,
    chip: Chip,
    planner: Planner,
) -> Pressure | None:
    """The program with smaller plans where its memory is short; None if it fits, or nothing can be smaller."""
    bounds: dict[int, float] = {}
    found: Pressure | None = None
    if memory.fits:
        return None
    for _ in range(_ROUNDS):
        if memory.max_tile_bytes <= memory.tile_memory_bytes:
            break
        changed = _new_bounds(program, costs.costs, memory, chip, bounds)
        if not changed:
            break
        bounds |= changed
        program = _bounded(program, changed)
        costs = op_costs(program, planner)
        memory = memory_report(program, costs.costs, again, deployment, chip, planner)
        proportions: dict[int, float] = {}
        for number, share in bounds.items():
            ipu = program.ops[number].ipu
            proportions[ipu] = min(share, proportions.get(ipu, share))
        found = Pressure(program, costs, memory, proportions, len(bounds))
    return found


def _new_bounds(
    program: Program, costs: Sequence[Cost], memory: MemoryReport, chip: Chip, known: Mapping[int, float]
) -> dict[int, float]:
    """Op -> proportion, for products whose temporaries are larger than what is left at any moment that they run."""
    found: dict[int, float] = {}
    alive = memory.liveness
    for ipu in memory.ipus:
        if ipu.max_tile_bytes <= memory.tile_memory_bytes or ipu.ipu not in alive.live:
            continue
        tile = ipu.fullest_tile
        lasting = sum(
            int(tiles[tile])
            for category, tiles in ipu.tiles.items()
            if category not in (Category.ACTIVATIONS, Category.TEMPORARIES, Category.GAPS)
        )
        room = chip.tile_memory_bytes / (1 + GAP_SHARE) - lasting
        live = alive.live[ipu.ipu] / chip.tiles
        for position, event in enumerate(alive.events):
            op = program.ops[event.op]
            if op.ipu != ipu.ipu or not any(isinstance(work, PLANNED) for work in op.works):
                continue
            left = room - float(live[position])
            if costs[event.op].bytes.temporary <= left:
                continue
            share = next((s for s in _SHARES if s * chip.tile_memory_bytes <= left), None)
            if share is None:
                return {}  # too little room, whatever the plan
            if share < min(found.get(event.op, 1.0), known.get(event.op, _proportion(op.works))):
                found[event.op] = share
    return found


def _proportion(works: Sequence[Work]) -> float:
    return max((work.proportion for work in works if isinstance(work, PLANNED)), default=0.0)


def _bounded(program: Program, bounds: Mapping[int, float]) -> Program:
    """`program` with other proportions for some of its ops."""
    ops = list(program.ops)
    for number, share in bounds.items():
        works = tuple(
            replace(work, proportion=min(share, work.proportion)) if isinstance(work, PLANNED) else work
            for work in ops[number].works
        )
        ops[number] = replace(ops[number], works=works)
    return replace(program, ops=ops, _by_phase=None)
