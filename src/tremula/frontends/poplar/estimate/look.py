"""The chip model's look at programs that are loaded: a line about their time and memory, and a warning if they do not
fit. Small programs are looked at by themselves, large ones on request (TREMULA_CHIP_MODEL=compile). What does not fit
is an error, where that was asked for, before: when an engine is made (`execute/figures.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tremula import log
from tremula.errors import Error
from tremula.formatting import duration, share
from tremula.frontends.poplar.estimate.memory_text import warn
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.target import TargetKind
from tremula.settings.environment import env

if TYPE_CHECKING:
    from tremula.frontends.poplar.estimate.model import ChipModel

#: vertices and variables up to which programs are looked at when they are loaded: about a tenth of a second
SMALL = 10_000


def look(make: Callable[[], ChipModel], graph: Graph) -> str:
    """Report the figures of programs, and whether they fit; the line about them, empty if nobody looked."""
    mode = env.get("TREMULA_CHIP_MODEL")
    if graph.contents.target.kind is TargetKind.CPU or mode == "off":
        return ""
    if mode != "compile" and _size(graph) > SMALL:
        return ""
    try:
        model = make()
        line = brief(model)
        problem = model.memory_problem()
    except Error as error:
        log.warn_once(
            f"chip model: {error.message}",
            f"The chip model cannot say what an IPU would do: {error.message}",
        )
        return ""
    log.layer("tremula").info(line)
    if problem is not None:
        warn(problem)
    return line


def _size(graph: Graph) -> int:
    sets = graph.contents.compute_sets
    return len(graph.memory.variables) + sum(b.count for made in sets for b in made.batches.values())


def brief(model: ChipModel) -> str:
    """One line: time of a run of each program, and the fullest tile."""
    estimate = model.estimate
    times = []
    for number in range(len(estimate.program.programs)):
        cycles = estimate.totals(estimate.executions(number)).total
        times.append(f"{duration(estimate.seconds(cycles))} ({cycles:,.0f} cycles)")
    fullest, limit = int(estimate.memory.most.max()), estimate.hardware.chip.tile_memory_bytes
    runs = "a run takes" if len(times) == 1 else "runs of the programs take"
    return (
        f"modelled for {estimate.hardware.chip.title}: {runs} {', '.join(times)}; "
        f"{share(fullest / limit)} of tile memory on the fullest tile"
    )
