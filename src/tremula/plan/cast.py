"""Changes of type: one pass over all elements.

Conversions between floating-point types are one instruction per vector and are bound by the wider side's loads
or stores; all others are compiled loops. Formula of PopLibs popops/PerformanceEstimation.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.hardware.chip import Chip
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Cost, Superstep, Why
from tremula.plan.elementwise import nothing_to_do
from tremula.plan.spread import ceil_div, spread
from tremula.program.dtypes import item_bytes
from tremula.program.work import Cast

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs popops/PerformanceEstimation.cpp, getCast1DCycleEstimate"

#: pairs that one instruction converts
_BY_INSTRUCTION = frozenset({("fp32", "fp16"), ("fp16", "fp32"), ("fp8", "fp16"), ("fp16", "fp8")})
#: cycles per eight (fp8) or four elements of special loops
_SPECIAL = {
    ("uint8", "fp16"): (9, 4), ("fp16", "uint8"): (16, 4), ("fp16", "int8"): (16, 4), ("fp16", "bool"): (16, 4),
    ("fp8", "int8"): (28, 8), ("fp8", "uint8"): (28, 8), ("int8", "fp8"): (37, 8), ("uint8", "fp8"): (37, 8),
    ("fp8", "fp8"): (13, 8),
}  # fmt: skip


def cast_cycles(elements: int, dtype: str, output_dtype: str, chip: Chip) -> float:
    """Cycles of one tile that converts `elements`."""
    source, target = dtype, output_dtype
    per_worker = ceil_div(elements, chip.worker_contexts)
    if target == "int64":
        worker: float = 3 + per_worker * (5 if source.startswith("int") else 4)
    elif (source, target) in _SPECIAL:
        cycles, width = _SPECIAL[source, target]
        worker = 27 + ceil_div(per_worker, width) * cycles
    else:
        single = (source, target) in _BY_INSTRUCTION
        loaded = max(1, chip.data_path_bytes // item_bytes(source))
        stored = max(1, chip.data_path_bytes // item_bytes(target))
        # a conversion reads two words of the data path at most and writes one
        width = min(2 * loaded, stored) if single else 1
        per_vector = max(width // min(width, loaded), width // min(width, stored)) + (0 if single else 1)
        worker = 19 + per_vector * ceil_div(per_worker, width) + 3 * (width.bit_length() - 1)
    return 12 + chip.worker_contexts * (18 + worker)


def plan_cast(work: Cast, planner: Planner) -> Cost:
    """One pass over all elements, where they lie."""
    chip = planner.chip
    wider = max(work.dtype, work.output_dtype, key=item_bytes)
    share = spread(work.elements, wider, chip)
    if share.elements == 0:
        return nothing_to_do("cast")
    cycles = cast_cycles(share.elements, work.dtype, work.output_dtype, chip)
    return Cost(
        supersteps=(
            Superstep(
                "cast",
                compute_cycles=cycles,
                sync_cycles=chip.sync_cycles,
                tiles=share.tiles,
                balance=share.balance,
            ),
        ),
        bytes=compute_set_bytes("cast", chip),
        why=Why(
            plan=f"{work.dtype} to {work.output_dtype} on {share.tiles} tiles x {share.elements} elements",
            formula="12 + workers x (18 + 19 + vectors x max(loads, stores per vector))",
            source=SOURCE,
            figures={"elements per tile": share.elements, "cycles": cycles},
        ),
    )
