"""Library functions: planned for the chip by the shapes of their operands, as ops of other front ends are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import ModelledSet, Phase, PhaseKind, VertexGroup
from tremula.plan.cost import Cost, Superstep
from tremula.plan.planner import Planner
from tremula.program.placed import Floats, Ints, Library

LIBRARY_SOURCE = "plans for library functions"


def library_cost(given: Library, planners: Callable[[int], Planner]) -> list[Cost]:
    """The plans of a library function; `planners` gives the planner for so many tiles."""
    return [planners(given.tiles or 0).plan(work) for work in given.works]


def library_phases(
    given: Library, costs: list[Cost], hardware: PlacedHardware, add: Callable[[ModelledSet], int]
) -> list[Phase]:
    """The phases of a library function; `add` takes its compute sets."""
    phases: list[Phase] = []
    for cost in costs:
        for step in cost.supersteps:
            phases += _superstep(given.name, step, hardware, add)
    return phases


def _superstep(
    name: str, step: Superstep, hardware: PlacedHardware, add: Callable[[ModelledSet], int]
) -> list[Phase]:
    label = f"{name}/{step.name}"
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
        vertices = {
            f"{name} ({step.name})": VertexGroup(len(tiles), len(tiles), float(spread.sum()), LIBRARY_SOURCE)
        }
        made = ModelledSet(label, vertices, tiles, spread, spread, flops)
        phases.append(
            Phase(PhaseKind.COMPUTE, label, cycles, tiles, spread, spread, compute_set=add(made), flops=flops)
        )
    return phases


def _spread(slowest: float, balance: float, tiles: Ints) -> Floats:
    """Cycles of each tile: the first is the slowest, the others have the rest of the mean."""
    found = np.full(len(tiles), slowest)
    if len(tiles) > 1:
        rest = (slowest * balance * len(tiles) - slowest) / (len(tiles) - 1)
        found[1:] = min(max(rest, 0.0), slowest)
    return found
