"""Expressions: placeholders `_1` to `_20`, constants, casts, a class for each operation, and Python's operators."""

from __future__ import annotations

from typing import Any, TypeAlias

from tremula.frontends.poplar.libs.popops.expressions import (
    NAMES,
    BinaryOp,
    Cast,
    Const,
    ConstHalf,
    Expr,
    PlaceHolder,
    TernaryOp,
    UnaryOp,
    as_expression,
    operation_class,
)
from tremula.frontends.poplar.libs.popops.operations import BinaryOpType, TernaryOpType, UnaryOpType

Any_: TypeAlias = Any


def Any(expression: Any_) -> Expr:  # type: ignore[no-redef]  # the wrapper that C++ needs around expressions in lists
    """An expression of any kind."""
    return as_expression(expression)


for _name in NAMES:
    globals()[_name] = operation_class(_name)
for _number in range(1, 21):
    globals()[f"_{_number}"] = PlaceHolder(_number)

__all__ = [
    "Any",
    "BinaryOp",
    "BinaryOpType",
    "Cast",
    "Const",
    "ConstHalf",
    "Expr",
    "PlaceHolder",
    "TernaryOp",
    "TernaryOpType",
    "UnaryOp",
    "UnaryOpType",
    *NAMES,
    *(f"_{number}" for number in range(1, 21)),
]
