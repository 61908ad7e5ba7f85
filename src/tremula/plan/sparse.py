"""A sparse matrix by a dense one: bands of columns over tiles, non-zeros evenly within a band.

A matrix whose pattern is fixed is cut into bands of inner columns and the dense one into slices of its columns;
every tile takes the dense rows that its non-zeros meet, multiplies, and partial results of the bands are added
(PopLibs popsparse/StaticMatMulPartitioner.cpp). Single non-zeros are multiplied by vector instructions, blocks
by the matrix engine. The dense operand is brought from rows to the order that the vertices need and the result
back (three copies each way, at the rates of PopLibs' regression for copies).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes
from tremula.plan.partition import Integers
from tremula.plan.sparse_vertices import Floats, block_cycles, element_cycles, reduce_cycles, zero_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import SparseMatMul

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs popsparse/StaticMatMulPartitioner.cpp"
#: slices of the dense columns and bands of the inner dimension that are tried
_MOST_SLICES = 32
_MOST_BANDS = 128
#: copies that bring an operand from one order to another: before the exchange, after it, and into groups
#: (their number was settled by spmm-008)
_COPIES = 3
#: cycles of a copy: fixed, and per byte by the bytes that stay together (PopLibs, regression of copies)
_COPY_CYCLES = 587
_COPY_RATE = {8: 0.44, 4: 3.125, 2: 5.148}
#: how much longer the non-zeros take when their pattern is known only at run time: buckets with room to spare,
#: several rounds to bring all of them to their tiles (fitted: the one figure for a dynamic pattern in
#: graphcore-research/notebooks SpMM.ipynb, 1.30 TFLOP/s)
_DYNAMIC = 3.3


@dataclass(frozen=True)
class _Candidates:
    slices: Integers
    bands: Integers
    tiles: Integers
    gather: Floats
    values: Floats
    multiply: Floats
    zero: Floats
    partials: Floats
    reduce: Floats
    temporary: Floats
    valid: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    @property
    def cycles(self) -> Floats:
        """Of all phases that depend on the candidate."""
        return self.gather + self.values + self.multiply + self.zero + self.partials + self.reduce


def plan_sparse_matmul(work: SparseMatMul, planner: Planner) -> Cost:
    """The bands and slices with the fewest cycles that fit."""
    chip = planner.chip
    if work.rows * work.inner * work.columns == 0 or work.density <= 0:
        return Cost((), Bytes(), Why(plan="sparse product with nothing", formula="0", source=""))
    found = _candidates(work, chip)
    bound = work.proportion * chip.tile_memory_bytes
    cycles = np.where(found.valid, found.cycles, np.inf)
    order = np.argsort(cycles, axis=None, kind="stable")
    fitting = order[found.temporary.ravel()[order] <= bound]
    fitting = fitting[np.isfinite(cycles.ravel()[fitting])]
    best = int(fitting[0]) if len(fitting) else int(np.argmin(np.where(found.valid, found.temporary, np.inf)))
    others = [int(i) for i in order[:3] if int(i) != best][:2]
    return _cost(work, chip, found, best, others, bound)


def _cost(
    work: SparseMatMul, chip: Chip, found: _Candidates, best: int, others: list[int], bound: float
) -> Cost:
    def at(values: Floats | Integers) -> float:
        return float(values.ravel()[best])

    size = item_bytes(work.dtype)
    tiles = int(at(found.tiles))
    nonzeros = work.density * work.rows * work.inner
    into = _rearrangement(work.inner * work.columns, work, chip)
    out = _rearrangement(work.rows * work.columns, work, chip)
    # a cycle for each byte: rows without a non-zero are cleared on the way
    moved = float(-(-work.rows * work.columns * size // chip.tiles))
    sync = float(chip.sync_cycles)
    steps = [
        Superstep("dense rows arranged", compute_cycles=into, sync_cycles=sync, tiles=chip.tiles),
        Superstep(
            "multiply",
            compute_cycles=at(found.multiply) + at(found.zero),
            exchange_cycles=at(found.gather) + at(found.values) + chip.exchange_latency_cycles,
            sync_cycles=sync,
            tiles=tiles,
            flops=2.0 * nonzeros * work.columns,
        ),
        Superstep(
            "partial sums",
            compute_cycles=at(found.reduce),
            exchange_cycles=at(found.partials) + moved + chip.exchange_latency_cycles,
            sync_cycles=sync,
            tiles=tiles,
        ),
        Superstep("result arranged", compute_cycles=out, sync_cycles=sync, tiles=chip.tiles),
    ]
    received = chip.exchange_bytes_per_cycle * (steps[1].exchange_cycles + steps[2].exchange_cycles)
    return Cost(
        supersteps=tuple(steps),
        bytes=compute_set_bytes(
            "library",
            chip,
            edges=4,
            temporary=at(found.temporary),
            exchange_code=exchange_code_bytes(
                received, chip, int(received // max(1, size * work.columns)) + 1
            ),
            compute_sets=4,
        ),
        why=Why(
            plan=_name(found, best),
            formula=(
                "dense rows / 8 + non-zeros / 4 + vertex + partial sums / 4 + their addition + result + copies"
            ),
            source=SOURCE,
            figures={
                "non-zeros": nonzeros,
                "temporary bytes per tile": at(found.temporary),
                "bound on them": bound,
            },
            alternatives=tuple(
                Alternative(
                    _name(found, i),
                    float(found.cycles.ravel()[i]),
                    "more cycles" if found.temporary.ravel()[i] <= bound else "temporaries above the bound",
                )
                for i in others
            ),
        ),
    )


def _name(found: _Candidates, index: int) -> str:
    slices, bands = (int(a.ravel()[index]) for a in (found.slices, found.bands))
    return f"{slices} slices of the dense columns x {bands} bands of the inner dimension"


def _rearrangement(elements: int, work: SparseMatMul, chip: Chip) -> float:
    """Cycles to bring a dense matrix from rows to the vertices' order, or back."""
    size = item_bytes(work.dtype)
    held = -(-elements // chip.tiles) * size
    # blocks want columns of a block together: every element goes its own way
    together = size if work.block > 1 else 8
    return _COPIES * (_COPY_CYCLES + _COPY_RATE[max(2, together)] * held)


def _candidates(work: SparseMatMul, chip: Chip) -> _Candidates:
    size, partial_size = item_bytes(work.dtype), item_bytes(work.partials)
    block, width = work.block, chip.vector_width(work.dtype)
    rows, inner = -(-work.rows // block), -(-work.inner // block)
    nonzeros = max(1, round(work.density * rows * inner))
    density = min(1.0, work.density)
    grains = -(-work.columns // width)
    grain = 1 if block == 1 else width
    slices = np.arange(1, min(_MOST_SLICES, grains) + 1)[:, None]
    bands = np.arange(1, max(1, min(_MOST_BANDS, -(-inner // grain))) + 1)[None, :]
    pair = min(chip.tiles, chip.tiles_per_exchange_bus)
    columns = -(-grains // slices) * width
    in_band = np.maximum(pair, chip.tiles // pair // slices * pair // bands // pair * pair)
    in_band = np.minimum(in_band, chip.tiles)
    valid = slices * bands <= chip.tiles // pair
    blocks = -(-nonzeros // bands)
    depth = -(-inner // bands)
    held = -(-blocks // in_band)
    tile_rows = -(-rows // in_band)
    met = np.where(tile_rows == 1, np.minimum(np.ceil(blocks / density), inner), depth)
    row_met = 1 - (1 - density) ** met
    rows_met = np.minimum(np.ceil(row_met * tile_rows + _spread(row_met, tile_rows)), tile_rows)
    column_met = 1 - (1 - density) ** tile_rows
    columns_met = np.minimum(np.ceil(column_met * met + _spread(column_met, met)), met)
    # offsets of the dense rows are sixteen bits wide, in units of eight rows of a block
    valid = valid & (depth * block * columns * size <= 65535 * (1 if block == 1 else 8 * block))
    dense_bytes = columns * columns_met * block * size
    value_bytes = held * block * block * size
    per_row = np.ceil(held / rows_met)
    if block == 1:
        multiply = element_cycles(np.ceil(rows_met / chip.worker_contexts), per_row, columns, size, chip)
        zero = np.zeros_like(multiply)
    else:
        multiply = block_cycles(rows_met, per_row, -(-columns // chip.worker_contexts), block, size, chip)
        zeroed = partial_size == 4 and block > 4
        zero = zero_cycles(rows_met * block * columns * partial_size, chip) * float(zeroed)
    output_bytes = rows_met * columns * partial_size * block
    sources = np.maximum(1, np.ceil((row_met * bands + _spread(row_met, bands)) * depth / met))
    partial_bytes = np.ceil(output_bytes * (sources - 1) / sources)
    outputs = np.ceil(output_bytes / partial_size / sources)
    word = chip.exchange_bytes_per_cycle
    values = np.where(slices > 1, np.ceil(value_bytes / word), 0.0)
    if work.dynamic:
        # their positions travel with them
        values, multiply = _DYNAMIC * (values + held * 4 / word), _DYNAMIC * multiply
    shape = np.broadcast_shapes(slices.shape, bands.shape)

    def full(values: Floats) -> Floats:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), shape)

    return _Candidates(
        slices=np.broadcast_to(slices, shape),
        bands=np.broadcast_to(bands, shape),
        tiles=np.minimum(slices * bands * in_band, chip.tiles),
        # neighbours take the same rows; gaps between the rows of a band keep the bus waiting
        gather=full(np.ceil(dense_bytes / (word * chip.tiles_per_exchange_bus)) * (met / columns_met)),
        values=full(values),
        multiply=full(multiply),
        zero=full(zero),
        partials=full(np.ceil(partial_bytes / word)),
        reduce=full(np.where(sources > 1, reduce_cycles(outputs, sources, size, partial_size, chip), 0.0)),
        temporary=full(np.maximum(dense_bytes + value_bytes + output_bytes, partial_bytes + output_bytes)),
        valid=np.broadcast_to(valid, shape),
    )


def _spread(probability: Floats, number: Floats | Integers) -> Floats:
    """One standard deviation of a count, rounded up."""
    return np.ceil(np.sqrt(probability * (1 - probability) * number))
