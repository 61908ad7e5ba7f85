"""Matrix products: convolutions with one kernel position, rows as the batch (PopLibs MatMul.cpp)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tremula.plan.convolution import plan_product
from tremula.plan.cost import Cost
from tremula.plan.crossed import with_crossed_operands
from tremula.program.work import MatMul

if TYPE_CHECKING:
    from tremula.plan.planner import Planner


def plan_matmul(work: MatMul, planner: Planner) -> Cost:
    """The cheapest plan of a matrix product that fits, its operands brought into the order that it reads them in."""
    # products of activations share no layout with a forward product; their own rearrangements are in `crossed`
    role = work.role if work.groups == 1 else "forward"
    return with_crossed_operands(plan_product(replace(work, role=role), planner), work, planner.chip)
