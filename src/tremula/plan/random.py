"""Random numbers and dropout.

Each worker has a generator of its own in hardware; a seed makes its numbers reproducible, so each use sets the
seeds before and puts the old ones back after. Loops of PopLibs poprandCycleEstimators.cpp, for vectors of the
64-bit data path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.hardware.chip import Chip
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Cost, Superstep, Why
from tremula.plan.elementwise import nothing_to_do
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.plan.spread import ceil_div, spread
from tremula.program.work import Random

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs poprandCycleEstimators.cpp, RandomGen.cpp"

#: kind: (supervisor cycles, worker setup fp32, worker setup others, worker cycles per vector)
_LOOPS = {
    "uniform": (4, 22, 24, 4),
    "normal": (4, 22, 24, 4),
    "bernoulli": (4, 23, 21, 1),
    "dropout": (6, 24, 24, 2),
    # as many attempts as leave one in 10,000 undone: three for a cut at two deviations, which is assumed
    "truncated_normal": (4, 26, 28, 12 * 3 + 5),
}
#: words of a seed
_SEED_BYTES = 8


def random_cycles(kind: str, elements: int, dtype: str, chip: Chip) -> float:
    """Cycles of one tile that makes `elements` numbers."""
    call, fp32, others, per_vector = _LOOPS[kind]
    vectors = ceil_div(elements, chip.vector_width(dtype))
    setup = fp32 if dtype == "fp32" else others
    # a tile's workers share the vectors
    return float(call + chip.worker_contexts * setup + per_vector * vectors)


def set_seed_cycles(chip: Chip) -> float:
    """Cycles to give every worker of a tile its seed."""
    return 14 + 27 * chip.worker_contexts


def plan_random(work: Random, planner: Planner) -> Cost:
    """Seeds, numbers, and the old seeds put back."""
    chip = planner.chip
    share = spread(work.elements, work.dtype, chip)
    if share.elements == 0:
        return nothing_to_do(work.kind)
    cycles = random_cycles(work.kind, share.elements, work.dtype, chip)
    seed = set_seed_cycles(chip)
    saved = 16.0 * chip.worker_contexts
    return Cost(
        supersteps=(
            Superstep(
                "set seeds",
                compute_cycles=seed,
                exchange_cycles=exchange_cycles(_SEED_BYTES, chip, shared_bus=True),
                sync_cycles=chip.sync_cycles,
                tiles=share.tiles,
            ),
            Superstep(
                work.kind,
                compute_cycles=cycles,
                sync_cycles=chip.sync_cycles,
                tiles=share.tiles,
                balance=share.balance,
                flops=float(work.elements * (2 if work.kind == "dropout" else 3)),
            ),
            Superstep("restore seeds", compute_cycles=seed, sync_cycles=chip.sync_cycles, tiles=share.tiles),
        ),
        bytes=compute_set_bytes(
            "random",
            chip,
            edges=2,
            vertices=3,
            temporary=saved,
            exchange_code=exchange_code_bytes(_SEED_BYTES, chip),
            compute_sets=3,
        ),
        why=Why(
            plan=f"{work.kind} on {share.tiles} tiles x {share.elements} elements, seeds set and restored",
            formula="call + workers x setup + cycles per vector x vectors; twice 14 + 27 x workers for seeds",
            source=SOURCE,
            figures={"elements per tile": share.elements, "cycles": cycles, "seed cycles": seed},
        ),
    )
