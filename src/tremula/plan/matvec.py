"""A matrix times a vector, rows on tiles and columns cut into segments: the cost function of a public tutorial.

One vertex per row and segment makes a dot product of two multiply-adds per cycle after five cycles of start-up; a
second compute set adds the segments of each row. The function is that of Graphcore's Poplar tutorial 6
(graphcore/examples, tutorials/poplar/tut6_matrix_vector_opt), which prints its results; `MatMul` is what a program
is planned with.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.hardware.chip import Chip
from tremula.plan.cost import Alternative, Why
from tremula.plan.spread import ceil_div
from tremula.program.dtypes import item_bytes

SOURCE = "graphcore/examples tutorials/poplar/tut6_matrix_vector_opt"

#: cycles before a vertex's loop
_START = 5
#: multiply-adds of fp32 in a cycle
_PER_CYCLE = 2


@dataclass(frozen=True)
class Split:
    """The cost of one way to cut the columns, in cycles."""

    segments: int
    compute: int
    exchange: int
    join_exchange: int
    join_compute: int

    @property
    def cycles(self) -> int:
        """All parts, one after the other."""
        return self.compute + self.exchange + self.join_exchange + self.join_compute


def split_cycles(rows: int, columns: int, segments: int, chip: Chip, dtype: str = "fp32") -> Split:
    """The cost with `segments` segments per row."""
    workers = chip.worker_contexts
    length = ceil_div(columns, segments)
    words = item_bytes(dtype) / chip.exchange_bytes_per_cycle
    # whole rounds of the workers: a tile is done when its last worker is
    dots = max(1, ceil_div(rows * segments, chip.tiles))
    compute = ceil_div(dots, workers) * workers * (_START + (length + 1) // _PER_CYCLE)
    # a tile's dot products of one segment share that part of the vector
    exchange = int(ceil_div(dots, rows) * length * words)
    sums = max(1, ceil_div(rows, chip.tiles))
    join_compute = ceil_div(sums, workers) * workers * (_START + (segments + 1) // _PER_CYCLE)
    return Split(segments, compute, exchange, int(sums * segments * words), join_compute)


def best_split(rows: int, columns: int, chip: Chip, dtype: str = "fp32") -> tuple[Split, Split]:
    """The cheapest way to cut the columns and the dearest."""
    splits = [split_cycles(rows, columns, n, chip, dtype) for n in range(1, max(2, columns))]
    return min(splits, key=lambda split: split.cycles), max(splits, key=lambda split: split.cycles)


def explain(rows: int, columns: int, chip: Chip, dtype: str = "fp32") -> Why:
    """Why the cheapest is the cheapest."""
    best, worst = best_split(rows, columns, chip, dtype)
    whole = split_cycles(rows, columns, 1, chip, dtype)
    return Why(
        plan=f"{rows} x {columns} by a vector: columns in {best.segments} segments, {best.cycles} cycles",
        formula="rounds of workers x (5 + half the segment) + words received, then the same for the sums of segments",
        source=SOURCE,
        figures={
            "compute": best.compute,
            "exchange": best.exchange,
            "join exchange": best.join_exchange,
            "join compute": best.join_compute,
        },
        alternatives=(
            Alternative("rows whole", whole.cycles, "no sums of segments, longer dot products"),
            Alternative(f"{worst.segments} segments", worst.cycles, "the dearest"),
        ),
    )
