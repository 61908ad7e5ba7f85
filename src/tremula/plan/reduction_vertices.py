"""Cycles of one tile that reduces what it holds.

Three kinds of vertices: a contiguous run reduced to one value, columns of a matrix reduced down its rows
(strided), and a general one that is several times slower. Formulas of PopLibs
popops/reduction/CycleEstimationFunctions.cpp; how work is cut between workers follows ReductionConnection.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from tremula.hardware.chip import Chip
from tremula.plan.spread import ceil_div

SOURCE = "PopLibs popops/reduction/CycleEstimationFunctions.cpp, ReductionPlan.cpp"

#: operations with vertices of their own; all others take the general one
FAST = frozenset({"add", "square_add", "max", "min", "log_add"})
#: operations whose partial sums of fp16 are kept in fp32
WIDENED = frozenset({"add", "square_add", "mul", "log_add"})
#: cycles of a worker to set up a second, smaller pass over what its tile's workers left (assumed)
_JOIN_SETUP = 40


def partials_type(operation: str, dtype: str) -> str:
    """The type in which partial results travel."""
    return "fp32" if operation in WIDENED and dtype in ("fp16", "fp8") else dtype


def width(dtype: str, chip: Chip) -> int:
    """Elements that a worker reduces per cycle: a word of the data path."""
    return chip.vector_width(dtype) if dtype in ("fp32", "fp16") else 1


def contiguous_cycles(outputs: int, depth: int, dtype: str, operation: str, chip: Chip) -> float:
    """`outputs` runs of `depth` elements each, every run to one value."""
    if operation not in FAST or dtype not in ("fp32", "fp16") or operation == "log_add":
        return general_cycles(outputs, depth, dtype, operation, chip)
    workers = chip.worker_contexts
    lanes = width(dtype, chip)

    def worker(runs: int, length: int) -> float:
        return 17 + runs * (12 + ceil_div(length, lanes))

    return workers * _cut(worker, outputs, depth, workers)


def strided_cycles(outputs: int, depth: int, dtype: str, operation: str, chip: Chip) -> float:
    """`depth` rows of `outputs` elements, reduced down the rows."""
    if operation not in FAST or dtype not in ("fp32", "fp16"):
        return general_cycles(outputs, depth, dtype, operation, chip)
    workers = chip.worker_contexts
    lanes = width(dtype, chip)
    per_row = 1
    if operation == "log_add":
        per_row = 13 if dtype == "fp16" else 23
    after = 8 if dtype == "fp16" else 5

    def worker(vectors: int, rows: int) -> float:
        return 16 + vectors * (6 + after + per_row * (rows - 1))

    return workers * _cut(worker, ceil_div(outputs, lanes), depth, workers)


def _cut(worker: Callable[[int, int], float], runs: int, depth: int, workers: int) -> float:
    """The busiest worker's cycles: whole runs for each, or runs cut in pieces and a second pass over the pieces."""
    best = worker(ceil_div(runs, workers), depth)
    for pieces in range(2, workers // runs + 1):
        best = min(best, worker(1, ceil_div(depth, pieces)) + _JOIN_SETUP + worker(1, pieces))
    return best


def general_cycles(outputs: int, depth: int, dtype: str, operation: str, chip: Chip) -> float:
    """Any operation and type: a pointer is fetched for every piece, alignment checked at every load."""
    workers = chip.worker_contexts
    if operation in ("argmax", "argmin", "max_class", "min_class"):
        # value and place are kept together: three cycles per element (popnn ReduceMaxClassGather)
        def arg(runs: int, length: int) -> float:
            return runs * (30 + 3 * max(0, length - 1))

        return 9 + workers * _cut(arg, outputs, depth, workers)
    if operation in ("and", "or", "any", "all", "logical_and", "logical_or") or operation == "log_add":
        per_element = 24 + (12 if operation == "log_add" else 1)
        return workers * (31 + ceil_div(outputs, workers) * (30 + per_element * depth))
    lanes = width(dtype, chip)
    vectors = ceil_div(outputs, lanes)
    return workers * (33 + 24 + ceil_div(vectors, workers) * (16 + 6 * depth))
