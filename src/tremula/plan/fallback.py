"""The cost of work that no planner knows: one pass over all it reads and writes.

Each element is handled by one worker in `CYCLES_PER_VECTOR` cycles per 64-bit vector, spread over all tiles,
and everything read is exchanged once. That is a plain element-wise op with rearranged operands; a real
implementation may be several times slower, so the op is listed as unknown wherever the cost is shown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tremula.plan.cost import Bytes, Cost, Superstep, Why
from tremula.program.dtypes import item_bytes
from tremula.program.work import Unknown

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: cycles of one worker per vector: load, compute, store and loop, without overlap
CYCLES_PER_VECTOR = 5


def plan_unknown(work: Unknown, planner: Planner) -> Cost:
    """One pass over what is read and written."""
    chip = planner.chip
    width = chip.vector_width(work.dtype)
    elements = max(1, work.read_elements + work.written_elements)
    per_tile = math.ceil(elements / chip.tiles)
    tiles = math.ceil(elements / per_tile)
    vectors = math.ceil(per_tile / width / chip.worker_contexts)
    compute = chip.worker_contexts * CYCLES_PER_VECTOR * vectors
    read = math.ceil(work.read_elements / chip.tiles) * item_bytes(work.dtype)
    exchange = math.ceil(read / chip.exchange_bytes_per_cycle) + chip.exchange_latency_cycles
    return Cost(
        supersteps=(
            Superstep(
                work.operation,
                compute_cycles=compute,
                exchange_cycles=exchange,
                sync_cycles=chip.sync_cycles,
                tiles=tiles,
                flops=float(elements),
            ),
        ),
        bytes=Bytes(temporary=read),
        why=Why(
            plan=f"unknown op {work.operation}: one pass over {elements:,} elements on {tiles} tiles",
            formula=f"{chip.worker_contexts} x {CYCLES_PER_VECTOR} x vectors per worker; bytes read / exchange width",
            source="assumption of this model, not of the vendor's libraries",
        ),
        fallback=True,
    )
