"""Library functions: planned for the chip by the shapes of their operands, as ops of other front ends are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tremula.placed.between_ipus import collective_phases
from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import ModelledSet, Phase, PhaseKind, VertexGroup
from tremula.plan.cost import Cost, Superstep
from tremula.plan.planner import Planner
from tremula.plan.vertex_types import ComputeSet, compute_sets
from tremula.program.placed import Floats, Ints, Library

LIBRARY_SOURCE = "plans for library functions"


def library_cost(given: Library, planners: Callable[[int], Planner]) -> list[Cost]:
    """The plans of a library function; `planners` gives the planner for so many tiles."""
    return [planners(given.tiles or 0).plan(work) for work in given.works]


def library_phases(
    given: Library, costs: list[Cost], hardware: PlacedHardware, add: Callable[[ModelledSet], int]
) -> list[Phase]:
    """The phases of a library function; `add` takes its compute sets.

    Compute sets and vertices have the public names of PopLibs, as far as its planners' steps have any.
    """
    phases: list[Phase] = []
    for work, cost in zip(given.works, costs, strict=True):
        named = compute_sets([work], cost, hardware.chip.worker_contexts)
        for step, names in zip(cost.supersteps, named, strict=True):
            phases += _superstep(f"{given.name}/{names.name}", step, names, hardware, add)
    for each in given.between:
        phases += collective_phases(given.name, each, hardware)
    return phases


def _superstep(
    label: str,
    step: Superstep,
    names: ComputeSet,
    hardware: PlacedHardware,
    add: Callable[[ModelledSet], int],
) -> list[Phase]:
    tiles = np.arange(min(max(step.tiles, 1), hardware.tiles))
    phases = []
    if step.sync_cycles:
        phases.append(Phase(PhaseKind.SYNC, f"{label}/Sync", step.repeats * step.sync_cycles))
    if step.exchange_cycles:
        cycles = step.repeats * step.exchange_cycles
        phases.append(
            Phase(PhaseKind.EXCHANGE, f"{label}/ExchangePre", cycles, tiles, np.full(len(tiles), cycles))
        )
    if step.compute_cycles:
        cycles = step.repeats * step.compute_cycles
        spread = _spread(cycles, step.balance, tiles)
        flops = step.repeats * step.flops
        made = ModelledSet(label, _vertices(names, float(spread.sum())), tiles, spread, spread, flops)
        phases.append(
            Phase(PhaseKind.COMPUTE, label, cycles, tiles, spread, spread, compute_set=add(made), flops=flops)
        )
    return phases


def _vertices(names: ComputeSet, cycles: float) -> dict[str, VertexGroup]:
    """The vertices of a compute set; each has an equal part of the cycles."""
    count = max(names.count, 1)
    return {
        each.type: VertexGroup(each.count, each.tiles, cycles * each.count / count, LIBRARY_SOURCE)
        for each in names.vertices
    }


def _spread(slowest: float, balance: float, tiles: Ints) -> Floats:
    """Cycles of each tile: the first is the slowest, the others have the rest of the mean."""
    found = np.full(len(tiles), slowest)
    if len(tiles) > 1:
        rest = (slowest * balance * len(tiles) - slowest) / (len(tiles) - 1)
        found[1:] = min(max(rest, 0.0), slowest)
    return found
