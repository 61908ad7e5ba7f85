"""Instructions of a user's stencil vertex, counted: what a worker executes for a row of results.

A worker issues one instruction at a time: loads, stores, branches and addresses on one side of its pipeline, arithmetic
on the other. Compilers of Mk1's time left the two sides apart; later ones pair a share of the arithmetic with a load or
a store, and a pair takes one cycle.
"""

from __future__ import annotations

import math

from tremula.hardware.chip import Chip
from tremula.plan.stencil_partition import Pieces
from tremula.program.dtypes import item_bytes
from tremula.program.work import Stencil

#: instructions of a compiled loop per turn besides loads, arithmetic and stores: the branch and a pointer
LOOP_INSTRUCTIONS = 2
#: more of them for fp16: constants are splatted anew (fitted: stencil_mk1_cycles-005)
HALF_INSTRUCTIONS = 4
#: instructions before the first row and after the last: entry, vertex state, return (fitted: as above)
VERTEX_INSTRUCTIONS = 40
#: share of arithmetic instructions that the compiler pairs with a load or store, by instruction set. Mk1: none, a
#: blur's vertices take all that is counted (thorbenlouw/lbm-graphcore). Mk2: four vertices leave 0.16, 0.28, 0.29 and
#: 0.55 (heat in two and three dimensions, simehaa/IPU; diffusion, TszwangKo/FYP_IPU_DEVITO); the middle of them
PAIRED_SHARE = {"ipu1": 0.0, "ipu2": 0.3, "ipu21": 0.3}


def flops_per_value(work: Stencil) -> float:
    """Additions and multiplications for one result."""
    return work.points + 1 if work.flops_per_value is None else work.flops_per_value


def spans_points(work: Stencil) -> bool:
    """Whether a vector of results covers neighbouring points, and not several values of one."""
    return work.vector > work.values


def cycles_per_vector(work: Stencil, chip: Chip) -> float:
    """Cycles of one worker for one vector of results: loads, arithmetic, stores, loop."""
    if work.cycles_per_vector is not None:
        return work.cycles_per_vector
    # over neighbouring points one sum falls apart into single elements, and so does the store
    apart = int(spans_points(work))
    memory = work.points + 1 + apart + work.address_loads + LOOP_INSTRUCTIONS
    return memory + _unpaired(flops_per_value(work) + apart, work, chip)


def _unpaired(arithmetic: float, work: Stencil, chip: Chip) -> float:
    if item_bytes(work.dtype) < 4:
        arithmetic += HALF_INSTRUCTIONS
    return arithmetic * (1.0 - PAIRED_SHARE[chip.architecture])


def _row_cycles(work: Stencil, points: int, chip: Chip) -> float:
    """Cycles of one worker for a row: a pointer for every point of the neighbourhood, then the vectors."""
    values = points * work.values
    if not spans_points(work) or points < work.vector:
        return work.points + -(-values // work.vector) * cycles_per_vector(work, chip)
    # the first point, and the last if an even number is left without it, are done singly in a pass of their own
    single = 1 + (points - 1) % work.vector
    each = work.points + 1 + work.address_loads + _unpaired(flops_per_value(work), work, chip)
    vectors = (points - single) // work.vector
    return 2 * work.points + single * each + vectors * cycles_per_vector(work, chip)


def sweep_cycles(work: Stencil, pieces: Pieces, chip: Chip) -> float:
    """Cycles of a tile in which each worker context sweeps its piece of the block."""
    slowest = max(
        VERTEX_INSTRUCTIONS + math.prod(piece[:-1]) * _row_cycles(work, piece[-1], chip)
        for piece, _ in pieces
    )
    return chip.worker_contexts * slowest
