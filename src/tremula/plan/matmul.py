"""Matrix products: convolutions with one kernel position, rows as the batch (PopLibs MatMul.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.plan.convolution import plan_product
from tremula.plan.cost import Cost
from tremula.program.work import MatMul

if TYPE_CHECKING:
    from tremula.plan.planner import Planner


def plan_matmul(work: MatMul, planner: Planner) -> Cost:
    """The cheapest plan of a matrix product that fits."""
    return plan_product(work, planner)
