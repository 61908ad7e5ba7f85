"""Adding up partial sums after a convolution, casting them, and the copies of a serial split.

Formulas: PopLibs PerformanceEstimation.hpp (reduce, cast), popopsCycleEstimators.cpp (dynamic slice, add).
"""

from __future__ import annotations

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Flags, Numbers, array, ceil_div, floor_div, scalar_or_array

#: bytes of code of the vertices of this module
REDUCE_CODE_BYTES = 700
CAST_CODE_BYTES = 300
SLICE_CODE_BYTES = 500


def fits_one_region(partial_bytes: Array, chip: Chip) -> Flags:
    """Whether partials may lie in one piece: rounded up to memory elements, below a sixteenth of the tile."""
    rounded = ceil_div(partial_bytes, chip.memory_element_bytes) * chip.memory_element_bytes
    return rounded < chip.tile_memory_bytes // 16


def _contiguous(outputs: Array, depth: Array, single_out: bool, single: bool, chip: Chip) -> Array:
    """All partials in one piece: the first is added to, in vectors as wide as the accumulators."""
    workers, accumulators = chip.worker_contexts, 4 if single else 8
    overhead = (8 if single_out else 7) if single else (10 if single_out else 9)
    loops = ceil_div(floor_div(outputs, accumulators), workers)
    return workers * (20 + (2 * (depth - 1) + overhead) * loops) + 33


def _scattered(outputs: Array, depth: Array, single_out: bool, single: bool, chip: Chip) -> Array:
    """Partials wherever they are: a pointer is loaded for each."""
    workers, accumulators = chip.worker_contexts, 4 if single else 8
    overhead = (7 if single else 9) - (0 if single_out else 1)
    rest = (outputs % accumulators).astype(np.int64)
    tail = sum(((rest >> bit) & 1) for bit in range(3))
    loops = floor_div(outputs, accumulators) + tail
    shared = floor_div(loops, workers)
    uneven = loops % workers > 0
    odd = uneven & (rest > 0)
    shared = shared + (uneven & (rest == 0))
    extra = np.where(odd, 2 * depth + (13 if single else 11), 0.0)
    result: Array = workers * (32 + extra + (3 * depth + overhead) * shared)
    return result


def reduce_cycles(
    outputs: Numbers, depth: Numbers, chip: Chip, *, partials: str = "fp32", output: str = "fp32"
) -> Numbers:
    """Cycles to add up `depth` partial sums for each of `outputs` elements on a tile, in one stage."""
    outs, deep = array(outputs), array(depth)
    single, single_out = partials == "fp32", output == "fp32"
    accumulators = 4 if single else 8
    moved = (deep - 1) * outs * (4 if single else 2)
    contiguous = (outs % accumulators == 0) & fits_one_region(moved, chip)
    one_piece = _contiguous(outs, deep, single_out, single, chip)
    cycles = np.where(contiguous, one_piece, _scattered(outs, deep, single_out, single, chip))
    return scalar_or_array(cycles, outputs, depth)


def cast_cycles(elements: Numbers, chip: Chip, *, dtype: str = "fp32", output: str = "fp16") -> Numbers:
    """Cycles to change the type of `elements` on a tile."""
    share = ceil_div(array(elements), chip.worker_contexts)
    slowest = np.maximum(
        ceil_div(share, chip.vector_width(dtype)), ceil_div(share, chip.vector_width(output))
    )
    return scalar_or_array((slowest + 26) * chip.worker_contexts, elements)


def slice_cycles(elements: Numbers, chip: Chip, *, dtype: str = "fp16") -> Numbers:
    """Cycles to cut a slice of `elements` out of a tensor on a tile, or to put it back."""
    share = ceil_div(array(elements), chip.worker_contexts)
    copies = floor_div(share, 4 if dtype == "fp8" else chip.vector_width(dtype))
    worker = (148.0 if dtype == "fp8" else 63.0) + 2 * copies
    return scalar_or_array(25 + chip.worker_contexts * worker, elements)


def accumulate_cycles(elements: Numbers, chip: Chip, *, dtype: str = "fp32") -> Numbers:
    """Cycles to add `elements` into as many others on a tile."""
    vectors = ceil_div(ceil_div(array(elements), chip.worker_contexts), chip.vector_width(dtype))
    return scalar_or_array(11 + chip.worker_contexts * (58 + 3 * vectors), elements)
