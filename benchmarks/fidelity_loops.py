"""What a turn of a loop on the device costs beside its body, as PopART lowers a loop.

Before the body: the condition to stop is worked out by a vertex on one tile and sent to all, and tensors that the body
reads are copied into its inputs. After it, all results are copied into places of their own, and a vertex counts the
turn. Copies are between equal layouts, so they stay on their tiles. Read in PopART's willow/src/popx/op/loopx.cpp after
gathers and scatters had been predicted without it, at 0.35 to 0.8 of the published cycles.
"""

from __future__ import annotations

from collections.abc import Mapping

from tremula.plan.cost import Superstep
from tremula.plan.exchange import exchange_cycles
from tremula.plan.planner import Planner
from tremula.program import work


def turn(loop: Mapping[str, int], dtype: str, planner: Planner) -> list[Superstep]:
    """The supersteps of a turn beside those of the body.

    `loop`: elements that the body reads (`read`), and all that it hands on to the next turn (`handed_on`).
    """
    chip = planner.chip
    scalar = list(planner.plan(work.Elementwise("add", 1, dtype="int32")).supersteps)
    condition = Superstep(
        "loop condition",
        exchange_cycles=exchange_cycles(chip.exchange_bytes_per_cycle, chip),
        sync_cycles=chip.sync_cycles,
        tiles=chip.tiles,
    )
    copies = [
        step
        for elements in (loop["read"], loop["handed_on"])
        for step in planner.plan(
            work.Copy(elements, dtype, contiguous=elements, between_tiles=False)
        ).supersteps
    ]
    return [*scalar, condition, *copies, *scalar]
