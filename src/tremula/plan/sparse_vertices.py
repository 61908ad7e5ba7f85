"""Cycles of the vertices of a sparse product: multiply single non-zeros or blocks, clear, add partial results.

`rows`, `nonzeros` of a row and `columns` are those of one tile or worker, as arrays over candidate plans.
Formulas and constants: PopLibs popsparse/StaticMatMulPartitioner.cpp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.hardware.chip import Chip
from tremula.plan.partition import Integers

Floats = NDArray[np.float64]

#: blocks of so many rows and columns on the matrix engine, by bytes of an element: cycles of a worker before
#: the first row, for each row, for the first column of a block and for each further one
_BLOCKS = {
    (4, 2): (17, 1, 14, 1),
    (8, 2): (13, 1, 14, 2),
    (16, 2): (13, 1, 19, 4),
    (4, 4): (13, 1, 12, 4),
    (8, 4): (13, 4, 19, 8),
    (16, 4): (16, 4, 74, 16),
}


def element_cycles(rows: Floats, nonzeros: Floats, columns: Integers, size: int, chip: Chip) -> Floats:
    """Single non-zeros: each is multiplied by a dense row and added, two vectors at a time."""
    more = nonzeros - 1
    pair = 2 * (chip.data_path_bytes // size)
    if size < 4:
        each = 11 + columns // pair * (14 + 3 * more) + (columns % pair != 0) * (9 + 2 * more)
        one, two, start = 7 + 2 * more, 8 + 3 * more, 33
    else:
        each = 12 + columns // pair * (10 + 3 * more) + (columns % pair != 0) * (10 + 2 * more)
        one, two, start = 5 + 2 * more, 6 + 3 * more, 31
    # rows of one or of two vectors have vertices of their own
    worker = start + rows * np.where(columns == pair // 2, one, np.where(columns == pair, two, each))
    return np.asarray(chip.worker_contexts * worker)


def block_cycles(
    rows: Floats, nonzeros: Floats, columns: Integers, block: int, size: int, chip: Chip
) -> Floats:
    """Blocks: each is loaded into the matrix engine and the dense columns of all workers stream past it."""
    nearest = min((known for known, _ in _BLOCKS), key=lambda known: abs(known - block))
    start, per_row, first, further = _BLOCKS[nearest, 2 if size < 4 else 4]
    load = block * block * size / chip.conv_weight_bytes_per_cycle
    # blocks of other sizes than those of the engine are several, or part of one
    scale = (block / nearest) ** 2
    contexts = chip.worker_contexts
    stream = scale * contexts * (first + (columns - 1) * further)
    return np.asarray(
        30 + start * contexts + rows * (per_row * contexts + 17 + nonzeros * (16 + load + stream))
    )


def zero_cycles(cleared_bytes: Floats, chip: Chip) -> Floats:
    """Partial results cleared."""
    per_worker = np.ceil(cleared_bytes / chip.data_path_bytes / chip.worker_contexts)
    return np.asarray(chip.worker_contexts * (12 + per_worker))


def reduce_cycles(outputs: Floats, sources: Floats, size: int, partial_size: int, chip: Chip) -> Floats:
    """Partial results of several bands added."""
    if partial_size < 4:
        vector, around = 8, 8 if size < 4 else 7
    else:
        vector, around = 4, 5
    turns = np.ceil(np.ceil(outputs / chip.worker_contexts) / vector)
    return np.asarray(chip.worker_contexts * (16 + turns * (around + 6 + sources - 1)))
