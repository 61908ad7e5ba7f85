"""What the chip model's planner chooses for a product or a convolution, in words and figures.

Everything here is modelled: the plan is the cheapest that the planner finds, not that of the real library.
"""

from __future__ import annotations

from typing import NamedTuple

from tremula.frontends.poplar.estimate.hardware import chip
from tremula.frontends.poplar.graph.graph import Graph
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.work import Convolution, MatMul


class PlanCosts(NamedTuple):
    """Modelled cycles, and bytes on the fullest tile beside the operands."""

    cycles: int
    memory: int


def cost_of(graph: Graph, work: MatMul | Convolution) -> Cost:
    """The cost of work on the tiles of a graph."""
    target = graph.contents.target.share(graph.contents.replicas)
    return Planner(chip(target).with_tiles(graph.tile_count)).plan(work)


def figures(cost: Cost) -> PlanCosts:
    """Cycles and bytes of a cost."""
    return PlanCosts(round(cost.cycles), round(cost.bytes.temporary))


def in_words(cost: Cost) -> str:
    """The plan, what each of its steps takes, and what was not taken."""
    found = figures(cost)
    lines = [
        f"Plan (modelled): {cost.why.plan}",
        f"  cycles: {found.cycles:,}; bytes beside the operands on the fullest tile: {found.memory:,}",
    ]
    for step in cost.supersteps:
        times = f"{step.repeats} x " if step.repeats > 1 else ""
        lines.append(
            f"  {step.name}: {times}compute {step.compute_cycles:,.0f}, exchange {step.exchange_cycles:,.0f}, "
            f"sync {step.sync_cycles:,.0f} cycles on {step.tiles:,} tiles"
        )
    lines += [f"  not taken: {each.plan} ({each.cycles:,.0f} cycles)" for each in cost.why.alternatives]
    return "\n".join(lines) + "\n"
