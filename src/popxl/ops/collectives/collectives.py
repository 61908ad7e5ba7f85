"""The operator of a collective."""

from __future__ import annotations

from typing import Literal

import popart._internal.ir as _ir

CommGroup = _ir.CommGroup
CommGroupType = _ir.CommGroupType
CollectiveOps = Literal["add", "mean", "mul", "min", "max", "and", "or", "square_add"]
OP_MAP = {
    "add": _ir.CollectiveOperator.Add,
    "mean": _ir.CollectiveOperator.Mean,
    "mul": _ir.CollectiveOperator.Mul,
    "min": _ir.CollectiveOperator.Min,
    "max": _ir.CollectiveOperator.Max,
    "and": _ir.CollectiveOperator.LogicalAnd,
    "or": _ir.CollectiveOperator.LogicalOr,
    "square_add": _ir.CollectiveOperator.SquareAdd,
}


def to_collective_op(op: CollectiveOps) -> _ir.CollectiveOperator:
    """As the bindings have it."""
    if op not in OP_MAP:
        raise ValueError(f"Not a valid op: {op}. There are {', '.join(OP_MAP)}.")
    return OP_MAP[op]
