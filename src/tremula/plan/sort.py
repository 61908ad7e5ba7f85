"""Sorting and top-k by a bitonic network, and running sums.

A step of the network compares pairs at one distance on all tiles at once; between steps one of each pair moves.
For the k largest, runs of k are sorted, then merged in pairs of which the smaller half is dropped. Indices travel
with the keys, and halves are sorted as floats (PopLibs popops/BitonicTopK.cpp, popopsCycleEstimators.cpp).
A running sum is a product with a triangle of ones (PopART willow/src/popx/op/cumsumx.cpp).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tremula.hardware.chip import Chip
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import MatMul, Scan, Sort

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: bytes of a key and of the index that goes with it
_PAIR_BYTES = 8
_SUPERVISOR_CYCLES = 19
#: cycles of a worker: whatever its share, for each comparison (PopLibs popopsCycleEstimators.cpp)
_COMPARE = {"fp32": (46, 11), "int32": (97, 17)}
#: cycles of a worker per element of a running sum: load, add, store, loop
_RUNNING = 4


def plan_sort(work: Sort, planner: Planner) -> Cost:
    """Rows sorted, or the k largest of each."""
    chip = planner.chip
    k = work.columns if work.k is None else min(work.k, work.columns)
    if work.rows * work.columns == 0 or k == 0:
        return Cost((), Bytes(), Why(plan="sort of nothing", formula="0", source=""))
    key = "fp32" if work.dtype.startswith(("fp", "bf")) else "int32"
    depth, run = _log2(work.columns), _log2(k)
    steps = [_step("sort runs", work.rows, work.columns, key, run * (run + 1) // 2, chip)]
    left = work.columns
    for merge in range(depth - run):
        steps.append(_step(f"merge {merge + 1}", work.rows, left, key, 1, chip))
        left = max(k, -(-left // 2))
        steps.append(_step(f"order {merge + 1}", work.rows, left, key, run, chip))
    steps = [step for step in steps if step.repeats]
    per_tile = -(-work.rows * work.columns // chip.tiles) * _PAIR_BYTES
    network = sum(step.repeats for step in steps)
    return Cost(
        supersteps=tuple(steps),
        bytes=compute_set_bytes(
            "library",
            chip,
            edges=2 + chip.worker_contexts,
            temporary=2 * per_tile,
            exchange_code=network
            * exchange_code_bytes(per_tile / 2, chip, max(1, _log2(per_tile // _PAIR_BYTES))),
            compute_sets=network,
        ),
        why=Why(
            plan=f"bitonic network of {network} steps over {work.rows} rows of {work.columns}, {k} kept",
            formula="per step: 19 + 6 x (start + comparisons of a worker x 11 or 17), one of each pair exchanged",
            source="PopLibs popops/BitonicTopK.cpp, popops/popopsCycleEstimators.cpp",
            figures={"steps": float(network), "comparisons of the first": work.rows * (work.columns // 2)},
        ),
    )


def _log2(number: int) -> int:
    return max(0, math.ceil(math.log2(max(1, number))))


def _step(name: str, rows: int, columns: int, key: str, repeats: int, chip: Chip) -> Superstep:
    comparisons = max(1, rows * columns // 2)
    per_tile = -(-comparisons // chip.tiles)
    tiles = -(-comparisons // per_tile)
    start, each = _COMPARE[key]
    worker = start + each * -(-per_tile // chip.worker_contexts)
    moved = per_tile * _PAIR_BYTES if tiles > 1 else 0
    return Superstep(
        name,
        compute_cycles=float(_SUPERVISOR_CYCLES + chip.worker_contexts * worker),
        exchange_cycles=exchange_cycles(moved, chip, _log2(per_tile) + 1),
        sync_cycles=chip.sync_cycles,
        tiles=tiles,
        balance=comparisons / (tiles * per_tile),
        repeats=repeats,
        flops=float(comparisons),
    )


def plan_scan(work: Scan, planner: Planner) -> Cost:
    """Running sums along rows."""
    chip = planner.chip
    if work.rows * work.columns == 0:
        return Cost((), Bytes(), Why(plan="running sum of nothing", formula="0", source=""))
    by_pieces = _pieces(work, chip)
    # the triangle must find room beside everything else; and PopLibs multiplies no integers
    triangle = work.columns**2 * item_bytes(work.dtype)
    if triangle > chip.memory_bytes // 8 or not work.dtype.startswith(("fp", "bf")):
        return by_pieces
    dtype = "fp16" if item_bytes(work.dtype) < 4 else "fp32"
    product = planner.plan(MatMul(work.rows, work.columns, work.columns, dtype=dtype))
    why = Why(
        plan=f"running sum as a product with a triangle of ones: {product.why.plan}",
        formula=product.why.formula,
        source=f"PopART willow/src/popx/op/cumsumx.cpp; {product.why.source}",
        figures=product.why.figures,
        alternatives=(Alternative(by_pieces.why.plan, by_pieces.cycles, "not what PopART does"),),
        parts=(product.why,),
    )
    return replace(product, why=why)


def _pieces(work: Scan, chip: Chip) -> Cost:
    """Each tile sums a piece of a row, then adds what the pieces before it came to."""
    size = item_bytes(work.dtype)
    pieces = max(1, min(chip.tiles // max(1, work.rows), work.columns))
    length = -(-work.columns // pieces)
    rows = -(-work.rows // max(1, chip.tiles // pieces))
    tiles = pieces * -(-work.rows // rows)
    # a row is summed by one worker; the offset is added by all
    turns = -(-rows // chip.worker_contexts)
    summed = chip.worker_contexts * (20 + _RUNNING * turns * length)
    added = chip.worker_contexts * (29 + 3 * -(-rows * length // chip.worker_contexts)) if pieces > 1 else 0
    offsets = pieces * rows * size if pieces > 1 else 0
    steps = [
        Superstep(
            "running sum",
            compute_cycles=float(summed),
            sync_cycles=chip.sync_cycles,
            tiles=tiles,
            flops=float(work.rows * work.columns),
        )
    ]
    if pieces > 1:
        steps.append(
            Superstep(
                "running sum, offsets",
                compute_cycles=float(added),
                exchange_cycles=exchange_cycles(offsets, chip, pieces),
                sync_cycles=chip.sync_cycles,
                tiles=tiles,
                flops=float(work.rows * work.columns),
            )
        )
    return Cost(
        supersteps=tuple(steps),
        bytes=compute_set_bytes(
            "binary",
            chip,
            temporary=offsets,
            exchange_code=exchange_code_bytes(offsets, chip, pieces),
            compute_sets=len(steps),
        ),
        why=Why(
            plan=f"running sums of pieces of {length} on {tiles} tiles",
            formula="6 x (20 + 4 per element of a row), then the sums of earlier pieces added",
            source="assumption of this model: a codelet of load, add, store and loop",
        ),
    )
