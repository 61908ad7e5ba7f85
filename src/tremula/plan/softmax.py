"""Softmax over rows: reductions and element-wise passes, one after the other.

Forward: row maximum, subtracted, exponential in place, row sum in fp32, reciprocal of the sums, multiplied in.
The logarithm of a softmax ends with a subtraction of the logarithm of the sums instead. The composition is that
of PopLibs popnn/NonLinearity.cpp and popnn/LogSoftmax.cpp; the gradient of the logarithm follows its
formula, pass by pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.plan.cost import Cost, Why, in_sequence
from tremula.plan.elementwise import nothing_to_do, with_temporaries
from tremula.program.work import Cast, Elementwise, Reduction, Softmax, Work

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs popnn/NonLinearity.cpp, popnn/LogSoftmax.cpp"


def plan_softmax(work: Softmax, planner: Planner) -> Cost:
    """The parts, planned each on its own."""
    if work.rows * work.columns <= 0:
        return nothing_to_do("softmax")
    parts = _gradient(work) if work.gradient else _forward(work)
    name = ("gradient of " if work.gradient else "") + ("log softmax" if work.logarithm else "softmax")
    cost = in_sequence(
        (planner.plan(part) for part in parts),
        Why(
            plan=f"{name} of {work.rows} rows of {work.columns}: {len(parts)} passes",
            formula="sum of the passes",
            source=SOURCE,
        ),
    )
    if work.gradient or work.logarithm:
        # exponentials, or products with the gradient, beside the result
        return with_temporaries(cost, 1, work.rows * work.columns, work.dtype, planner.chip)
    return cost


def _by_row(operation: str, work: Softmax, in_place: bool = False) -> Elementwise:
    """A binary pass with one value per row."""
    return Elementwise(
        operation,
        work.rows * work.columns,
        work.dtype,
        operands=2,
        broadcast_elements=work.rows,
        in_place=in_place,
    )


def _forward(work: Softmax) -> list[Work]:
    elements = work.rows * work.columns
    parts: list[Work] = [
        Reduction(work.rows, work.columns, 1, work.dtype, "max"),
        _by_row("sub", work),
        Elementwise("exp", elements, work.dtype, in_place=not work.logarithm),
        Reduction(work.rows, work.columns, 1, work.dtype, "add", "fp32"),
    ]
    if work.logarithm:
        parts.append(Elementwise("log", work.rows, "fp32", output_dtype=work.dtype, in_place=True))
        parts.append(_by_row("sub", work, in_place=True))
        return parts
    parts.append(Elementwise("reciprocal", work.rows, "fp32", in_place=True))
    if work.dtype != "fp32":
        parts.append(Cast(work.rows, "fp32", work.dtype))
    parts.append(_by_row("mul", work, in_place=True))
    return parts


def _gradient(work: Softmax) -> list[Work]:
    elements = work.rows * work.columns
    if work.logarithm:
        # gradient - exp(output) x row sum of the gradient
        return [
            Reduction(work.rows, work.columns, 1, work.dtype, "add"),
            Elementwise("exp", elements, work.dtype),
            _by_row("mul", work, in_place=True),
            Elementwise("sub", elements, work.dtype, operands=2, in_place=True),
        ]
    # output x gradient - output x row sum of (output x gradient)
    return [
        Elementwise("mul", elements, work.dtype, operands=2),
        Reduction(work.rows, work.columns, 1, work.dtype, "add"),
        _by_row("mul", work),
        Elementwise("sub", elements, work.dtype, operands=2, in_place=True),
    ]
