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
    steps = _supersteps(work, chip, found, best)
    received = chip.exchange_bytes_per_cycle * (steps[1].exchange_cycles + steps[2].exchange_cycles)
    transfers = int(received // max(1, item_bytes(work.dtype) * work.columns)) + 1
    temporary = float(found.temporary.ravel()[best])
    return Cost(
        supersteps=steps,
        bytes=compute_set_bytes(
            "library",
            chip,
            edges=4,
            temporary=temporary,
            exchange_code=exchange_code_bytes(received, chip, transfers),
            compute_sets=4,
        ),
        why=Why(
            plan=_name(found, best),
            formula=(
                "dense rows / 8 + non-zeros / 4 + vertex + partial sums / 4 + their addition + result + copies"
            ),
            source=SOURCE,
            figures={
                "non-zeros": work.density * work.rows * work.inner,
                "temporary bytes per tile": temporary,
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


def _supersteps(work: SparseMatMul, chip: Chip, found: _Candidates, best: int) -> tuple[Superstep, ...]:
    def at(values: Floats | Integers) -> float:
        return float(values.ravel()[best])

    tiles = int(at(found.tiles))
    into = _rearrangement(work.inner * work.columns, work, chip)
    out = _rearrangement(work.rows * work.columns, work, chip)
    # a cycle for each byte: rows without a non-zero are cleared on the way
    moved = float(-(-work.rows * work.columns * item_bytes(work.dtype) // chip.tiles))
    sync = float(chip.sync_cycles)
    return (
        Superstep("dense rows arranged", compute_cycles=into, sync_cycles=sync, tiles=chip.tiles),
        Superstep(
            "multiply",
            compute_cycles=at(found.multiply) + at(found.zero),
            exchange_cycles=at(found.gather) + at(found.values) + chip.exchange_latency_cycles,
            sync_cycles=sync,
            tiles=tiles,
            flops=2.0 * (work.density * work.rows * work.inner) * work.columns,
        ),
        Superstep(
            "partial sums",
            compute_cycles=at(found.reduce),
            exchange_cycles=at(found.partials) + moved + chip.exchange_latency_cycles,
            sync_cycles=sync,
            tiles=tiles,
        ),
        Superstep("result arranged", compute_cycles=out, sync_cycles=sync, tiles=chip.tiles),
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


@dataclass(frozen=True)
class _Shares:
    """What a tile gets of a band: non-zero blocks, and the dense rows and columns that they meet.

    Attributes:
        depth: dense rows of a band, in blocks.
        blocks: non-zero blocks of a tile.
        met: dense rows that the rows of a tile may meet.
        row_met: share of the rows of a tile with a non-zero.
        rows_met: their number.
        columns_met: dense rows that a tile takes.
    """

    depth: Integers
    blocks: Integers
    met: Floats
    row_met: Floats
    rows_met: Floats
    columns_met: Floats


def _shares(work: SparseMatMul, bands: Integers, in_band: Integers) -> _Shares:
    rows, inner = -(-work.rows // work.block), -(-work.inner // work.block)
    nonzeros = max(1, round(work.density * rows * inner))
    density = min(1.0, work.density)
    blocks = -(-nonzeros // bands)
    depth = -(-inner // bands)
    tile_rows = -(-rows // in_band)
    met: Floats = np.where(tile_rows == 1, np.minimum(np.ceil(blocks / density), inner), depth)
    row_met: Floats = 1 - (1 - density) ** met
    column_met: Floats = 1 - (1 - density) ** tile_rows.astype(np.float64)
    return _Shares(
        depth=depth,
        blocks=-(-blocks // in_band),
        met=met,
        row_met=row_met,
        rows_met=np.minimum(np.ceil(row_met * tile_rows + _spread(row_met, tile_rows)), tile_rows),
        columns_met=np.minimum(np.ceil(column_met * met + _spread(column_met, met)), met),
    )


def _candidates(work: SparseMatMul, chip: Chip) -> _Candidates:
    size, partial_size = item_bytes(work.dtype), item_bytes(work.partials)
    block, width = work.block, chip.vector_width(work.dtype)
    grains, inner = -(-work.columns // width), -(-work.inner // block)
    grain = 1 if block == 1 else width
    slices = np.arange(1, min(_MOST_SLICES, grains) + 1)[:, None]
    bands = np.arange(1, max(1, min(_MOST_BANDS, -(-inner // grain))) + 1)[None, :]
    pair = min(chip.tiles, chip.tiles_per_exchange_bus)
    columns = -(-grains // slices) * width
    in_band = np.maximum(pair, chip.tiles // pair // slices * pair // bands // pair * pair)
    in_band = np.minimum(in_band, chip.tiles)
    share = _shares(work, bands, in_band)
    # offsets of the dense rows are sixteen bits wide, in units of eight rows of a block
    within = share.depth * block * columns * size <= 65535 * (1 if block == 1 else 8 * block)
    dense_bytes = columns * share.columns_met * block * size
    value_bytes = share.blocks * block * block * size
    multiply, zero = _vertices(work, chip, share, columns)
    output_bytes = share.rows_met * columns * partial_size * block
    sources = np.maximum(
        1, np.ceil((share.row_met * bands + _spread(share.row_met, bands)) * share.depth / share.met)
    )
    partial_bytes = np.ceil(output_bytes * (sources - 1) / sources)
    outputs = np.ceil(output_bytes / partial_size / sources)
    word = chip.exchange_bytes_per_cycle
    values = np.where(slices > 1, np.ceil(value_bytes / word), 0.0)
    if work.dynamic:
        # their positions travel with them
        values, multiply = _DYNAMIC * (values + share.blocks * 4 / word), _DYNAMIC * multiply
    shape = np.broadcast_shapes(slices.shape, bands.shape)

    def full(values: Floats) -> Floats:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), shape)

    return _Candidates(
        slices=np.broadcast_to(slices, shape),
        bands=np.broadcast_to(bands, shape),
        tiles=np.minimum(slices * bands * in_band, chip.tiles),
        # neighbours take the same rows; gaps between the rows of a band keep the bus waiting
        gather=full(
            np.ceil(dense_bytes / (word * chip.tiles_per_exchange_bus)) * (share.met / share.columns_met)
        ),
        values=full(values),
        multiply=full(multiply),
        zero=full(zero),
        partials=full(np.ceil(partial_bytes / word)),
        reduce=full(np.where(sources > 1, reduce_cycles(outputs, sources, size, partial_size, chip), 0.0)),
        temporary=full(np.maximum(dense_bytes + value_bytes + output_bytes, partial_bytes + output_bytes)),
        valid=np.broadcast_to((slices * bands <= chip.tiles // pair) & within, shape),
    )


def _vertices(work: SparseMatMul, chip: Chip, share: _Shares, columns: Integers) -> tuple[Floats, Floats]:
    """Cycles of the products, and of clearing what they are added to."""
    size, partial_size, block = item_bytes(work.dtype), item_bytes(work.partials), work.block
    per_row = np.ceil(share.blocks / share.rows_met)
    if block == 1:
        rows = np.ceil(share.rows_met / chip.worker_contexts)
        multiply = element_cycles(rows, per_row, columns, size, chip)
        return multiply, np.zeros_like(multiply)
    on_worker = -(-columns // chip.worker_contexts)
    multiply = block_cycles(share.rows_met, per_row, on_worker, block, size, chip)
    zeroed = partial_size == 4 and block > 4
    zero = zero_cycles(share.rows_met * block * columns * partial_size, chip) * float(zeroed)
    return multiply, zero


def _spread(probability: Floats, number: Floats | Integers) -> Floats:
    """One standard deviation of a count, rounded up."""
    return np.ceil(np.sqrt(probability * (1 - probability) * number))
