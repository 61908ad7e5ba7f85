"""From work to cost: the planner of each kind of work, asked once per shape.

A `Planner` belongs to one chip and one set of fitted constants. Planners of composite work (a softmax is
reductions and element-wise passes) ask it for the cost of their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tremula.errors import Error
from tremula.hardware.chip import Chip
from tremula.plan.cast import plan_cast
from tremula.plan.constants import FITTED, Constants
from tremula.plan.convolution import plan_convolution
from tremula.plan.copy import plan_copy, plan_fill
from tremula.plan.cost import Cost
from tremula.plan.elementwise import plan_elementwise
from tremula.plan.fallback import plan_unknown
from tremula.plan.gather import plan_gather, plan_scatter
from tremula.plan.matmul import plan_matmul
from tremula.plan.norm import plan_norm
from tremula.plan.pooling import plan_pool
from tremula.plan.random import plan_random
from tremula.plan.recurrent import plan_recurrent
from tremula.plan.reduction import plan_reduction
from tremula.plan.softmax import plan_softmax
from tremula.plan.sort import plan_scan, plan_sort
from tremula.plan.sparse import plan_sparse_matmul
from tremula.plan.stencil import plan_stencil
from tremula.program.work import (
    Cast,
    Convolution,
    Copy,
    Elementwise,
    Fill,
    Gather,
    MatMul,
    Norm,
    Pool,
    Random,
    Recurrent,
    Reduction,
    Scan,
    Scatter,
    Softmax,
    Sort,
    SparseMatMul,
    Stencil,
    Unknown,
    Work,
)

Plan = Callable[[Any, "Planner"], Cost]


class Planner:
    """Costs of work on `chip`, remembered."""

    def __init__(self, chip: Chip, constants: Constants = FITTED) -> None:
        self.chip = chip
        self.constants = constants
        self._known: dict[Work, Cost] = {}

    def plan(self, work: Work) -> Cost:
        """The cheapest way to do `work` that fits, and its cost; raises Error if this host cannot find it."""
        cost = self._known.get(work)
        if cost is None:
            try:
                cost = PLANNERS[type(work)](work, self)
            except MemoryError:
                raise Error(f"A plan for {str(work)[:200]} takes more memory than this host has.") from None
            self._known[work] = cost
        return cost


PLANNERS: dict[type, Plan] = {Unknown: plan_unknown}
PLANNERS.update(
    {
        Elementwise: plan_elementwise,
        Cast: plan_cast,
        Reduction: plan_reduction,
        Softmax: plan_softmax,
        Norm: plan_norm,
        Random: plan_random,
        Copy: plan_copy,
        Fill: plan_fill,
    }
)
PLANNERS.update({MatMul: plan_matmul, Convolution: plan_convolution})
PLANNERS.update(
    {
        Pool: plan_pool,
        Gather: plan_gather,
        Scatter: plan_scatter,
        Recurrent: plan_recurrent,
        Sort: plan_sort,
        Scan: plan_scan,
        SparseMatMul: plan_sparse_matmul,
        Stencil: plan_stencil,
    }
)
