"""Operands of matrix products whose inner extent does not lie together: they are transposed first.

The matrix engine reads both operands in vectors along the extent that is summed over. Weights are laid out for
that; results of other ops are not. In attention, values, and in its gradients queries, keys, probabilities and their
gradients, lie the other way round and are transposed on the tiles before the product. PopLibs transposes in blocks of
whole vectors; if the extent is not a multiple of a vector (197 tokens, windows of 49), single elements change places.
The same holds for the gradient of weights, which sums over the rows of both operands.
"""

from __future__ import annotations

from dataclasses import replace

from tremula.hardware.chip import Chip
from tremula.plan.cost import Cost, Superstep, Why
from tremula.plan.rearrange import rearrange_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import MatMul

#: cycles of a call of a transposing vertex, and bytes written over bytes per cycle for whole blocks: PopLibs
#: poplin/ConvModel.cpp (587 cycles; elements of the type's width per cycle, 5/4 of them)
_CALL, _BLOCK_FACTOR = 587, 1.25
_SOURCE = "PopLibs poplin/ConvModel.cpp: cost of transforms, and its regression for atoms of 2 and 4 bytes"


def with_crossed_operands(cost: Cost, work: MatMul, chip: Chip) -> Cost:
    """`cost` of the product `work` with what it takes to transpose its operands."""
    size = item_bytes(work.dtype)
    whole = work.inner % max(1, chip.data_path_bytes // size) == 0
    operands = work.crossed
    if work.groups == 1 and work.role == "weight_gradient":
        operands = "right" if whole else "both"  # whole blocks of the left one are in the product's own plan
    moved = _elements(work, operands) * size / chip.tiles
    if not moved:
        return cost
    if whole:
        compute = _CALL + moved * _BLOCK_FACTOR / min(size, chip.memcpy_bytes_per_cycle)
    else:
        compute = rearrange_cycles(moved, size, chip)
    exchange = moved / chip.exchange_bytes_per_cycle + chip.exchange_latency_cycles
    step = Superstep("transpose operands", compute, exchange, chip.sync_cycles, tiles=chip.tiles)
    how = (
        "in blocks of whole vectors"
        if whole
        else f"element by element: {work.inner} is not a multiple of a vector"
    )
    why = Why(
        plan=f"{'both operands' if operands == 'both' else f'the {operands} operand'} transposed, {how}",
        formula="call + bytes per tile x 5/4 / element; single elements: cycles per atom of 2 or 4 bytes",
        source=_SOURCE,
        figures={"bytes per tile": moved, "cycles": compute + exchange},
    )
    return replace(
        cost,
        supersteps=(step, *cost.supersteps),
        bytes=replace(cost.bytes, temporary=max(cost.bytes.temporary, round(2 * moved))),
        why=replace(cost.why, parts=(*cost.why.parts, why)),
    )


def _elements(work: MatMul, operands: str) -> int:
    """Elements of the operands that are transposed."""
    left, right = work.rows * work.inner, work.inner * work.columns
    return work.groups * {"left": left, "right": right, "both": left + right}.get(operands, 0)
