"""Convolutions, forward and gradients, as a search over rewritings, vertices and splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.plan.conv_grid import Target
from tremula.plan.conv_report import cost_of
from tremula.plan.conv_search import search
from tremula.plan.conv_shape import shape_of
from tremula.plan.conv_transforms import Pass
from tremula.plan.cost import Cost
from tremula.program.work import Convolution, MatMul

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: types as the vertices know them; whole numbers take the path of fp32
_TYPES = {"fp8": "fp8", "fp16": "fp16"}


def plan_product(work: Convolution | MatMul, planner: Planner) -> Cost:
    """The cheapest plan of a convolution or a matrix product that fits."""
    chip = planner.chip
    dtype = _TYPES.get(work.dtype, "fp32")
    if dtype == "fp8" and not chip.conv_units("fp8", "fp16"):
        dtype = "fp16"  # cast on the way in
    partials = {"fp32": "fp32", "fp8": "fp16"}.get(dtype, "fp16" if work.partials == "fp16" else "fp32")
    target = Target(
        chip, Pass(isinstance(work, MatMul), work.role), dtype, "fp32" if dtype == "fp32" else "fp16"
    )
    shape = shape_of(work)
    return cost_of(search(target, shape, partials, work.proportion), target, shape)


def plan_convolution(work: Convolution, planner: Planner) -> Cost:
    """The cheapest plan of a convolution that fits."""
    return plan_product(work, planner)
