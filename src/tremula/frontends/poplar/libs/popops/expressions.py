"""Expressions over tensors: trees of operations, placeholders, constants and casts, with Python's operators.

A program in another language sends a tree as nested lists: `["_", 1]` for the first placeholder, `["const", "FLOAT",
2.5]`, `["cast", tree, "HALF"]`, and `["ADD", tree, tree]` for an operation by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.operations import (
    BY_NAME,
    BinaryOpType,
    OpType,
    TernaryOpType,
    UnaryOpType,
)
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Type
from tremula.frontends.poplar.types import BY_NAME as TYPES


class Expr:
    """A part of an expression."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise PoplibsError(
            "an expression has no truth value: use & and | for bits, expr.And, expr.Or and expr.Not for truth values"
        )

    def __add__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.ADD, self, other)

    def __radd__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.ADD, other, self)

    def __sub__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.DIVIDE, other, self)

    def __mod__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.REMAINDER, self, other)

    def __rmod__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.REMAINDER, other, self)

    def __pow__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.POWER, self, other)

    def __rpow__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.POWER, other, self)

    def __lshift__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SHIFT_LEFT, self, other)

    def __rlshift__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SHIFT_LEFT, other, self)

    def __rshift__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SHIFT_RIGHT, self, other)

    def __rrshift__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.SHIFT_RIGHT, other, self)

    def __and__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_AND, self, other)

    def __rand__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_AND, other, self)

    def __or__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_OR, self, other)

    def __ror__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_OR, other, self)

    def __xor__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_XOR, self, other)

    def __rxor__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.BITWISE_XOR, other, self)

    def __lt__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.LESS_THAN, self, other)

    def __le__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.LESS_THAN_EQUAL, self, other)

    def __gt__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.GREATER_THAN, self, other)

    def __ge__(self, other: Any) -> BinaryOp:
        return BinaryOp(BinaryOpType.GREATER_THAN_EQUAL, self, other)

    def __eq__(self, other: object) -> BinaryOp:  # type: ignore[override]
        return BinaryOp(BinaryOpType.EQUAL, self, other)

    def __ne__(self, other: object) -> BinaryOp:  # type: ignore[override]
        return BinaryOp(BinaryOpType.NOT_EQUAL, self, other)

    def __neg__(self) -> UnaryOp:
        return UnaryOp(UnaryOpType.NEGATE, self)

    def __invert__(self) -> UnaryOp:
        return UnaryOp(UnaryOpType.BITWISE_NOT, self)

    def __abs__(self) -> UnaryOp:
        return UnaryOp(UnaryOpType.ABSOLUTE, self)


class PlaceHolder(Expr):
    """The operand with this number, from 1."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = int(index)


class Const(Expr):
    """A constant. Its type is that of what it is combined with; `type` counts only where that says nothing."""

    __slots__ = ("type", "value")

    def __init__(self, value: bool | int | float, type: Type | None = None) -> None:
        self.value = value
        self.type = type or _type_of(value)


class ConstHalf(Const):
    """A constant of type half."""

    __slots__ = ()

    def __init__(self, value: float) -> None:
        super().__init__(value, HALF)


class Cast(Expr):
    """An expression in another type."""

    __slots__ = ("argument", "type")

    def __init__(self, argument: Any, type: Type) -> None:
        self.argument, self.type = as_expression(argument), type


class Operated(Expr):
    """An operation on expressions."""

    __slots__ = ("arguments", "type")
    count = 0

    def __init__(self, type: OpType, *arguments: Any) -> None:
        if len(arguments) != self.count:
            raise PoplibsError(f"{type.name} has {self.count} operands, not {len(arguments)}")
        self.type = type
        self.arguments = tuple(as_expression(each) for each in arguments)


class UnaryOp(Operated):
    """An operation on one expression."""

    __slots__ = ()
    count = 1


class BinaryOp(Operated):
    """An operation on two expressions."""

    __slots__ = ()
    count = 2


class TernaryOp(Operated):
    """An operation on three expressions."""

    __slots__ = ()
    count = 3


_CLASSES: dict[type, type[Operated]] = {
    UnaryOpType: UnaryOp,
    BinaryOpType: BinaryOp,
    TernaryOpType: TernaryOp,
}


def of_operation(type: OpType, *arguments: Any) -> Operated:
    """An operation on as many expressions as it has operands; without any, on the placeholders."""
    made = _CLASSES[type.__class__]
    return made(type, *(arguments or [PlaceHolder(number + 1) for number in range(made.count)]))


def as_expression(what: Any) -> Expr:
    """An expression from one, a number, or nested lists."""
    if isinstance(what, Expr):
        return what
    if isinstance(what, bool | int | float):
        return Const(what)
    if isinstance(what, OpType):
        return of_operation(what)
    if hasattr(what, "item") and not isinstance(what, list | tuple):
        return Const(what.item())
    if isinstance(what, Sequence) and what and isinstance(what[0], str):
        return _of_lists(what)
    raise PoplibsError(f"{what!r} is not part of an expression: use placeholders, numbers and operations")


def _of_lists(tree: Sequence[Any]) -> Expr:
    head, *rest = tree
    try:
        if head == "_":
            return PlaceHolder(*rest)
        if head == "const":
            return Const(rest[1], TYPES[rest[0]])
        if head == "cast":
            return Cast(rest[0], TYPES[rest[1]])
        return of_operation(BY_NAME[head], *rest)
    except (KeyError, IndexError, TypeError):
        raise PoplibsError(f"{str(tree)[:80]} is not an expression") from None


def _type_of(value: bool | int | float) -> Type:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT if -(1 << 31) <= value < 1 << 31 else UNSIGNED_INT
    return FLOAT


#: names of the public classes of operations
NAMES: dict[str, str] = {
    "Abs": "ABSOLUTE", "Asin": "ASIN", "BitwiseNot": "BITWISE_NOT", "Cbrt": "CBRT", "Erf": "ERF", "Ceil": "CEIL",
    "Cos": "COS", "Exp": "EXPONENT", "Expm1": "EXPONENT_MINUS_ONE", "Exp2": "EXPONENT2", "Floor": "FLOOR",
    "GeluErf": "GELU_ERF", "Inv": "INVERSE", "IsFinite": "IS_FINITE", "IsInf": "IS_INF", "IsNaN": "IS_NAN",
    "Log": "LOGARITHM", "Log1p": "LOGARITHM_ONE_PLUS", "Not": "LOGICAL_NOT", "Neg": "NEGATE",
    "NearbyInt": "NEARBY_INT", "Signum": "SIGNUM", "Sin": "SIN", "Tan": "TAN", "Tanh": "TANH", "Round": "ROUND",
    "Trunc": "TRUNC", "Sqrt": "SQRT", "Square": "SQUARE", "Sigmoid": "SIGMOID", "Rsqrt": "RSQRT", "Relu": "RELU",
    "PopCount": "POPCOUNT", "CountLeadingZeros": "COUNT_LEADING_ZEROS",
    "Add": "ADD", "Atan2": "ATAN2", "BitwiseAnd": "BITWISE_AND", "BitwiseOr": "BITWISE_OR",
    "BitwiseXor": "BITWISE_XOR", "BitwiseXnor": "BITWISE_XNOR", "Divide": "DIVIDE", "Equal": "EQUAL",
    "Gte": "GREATER_THAN_EQUAL", "Gt": "GREATER_THAN", "Lte": "LESS_THAN_EQUAL", "And": "LOGICAL_AND",
    "Or": "LOGICAL_OR", "Lt": "LESS_THAN", "InvStdDevToVariance": "INV_STD_DEV_TO_VARIANCE", "Max": "MAXIMUM",
    "Min": "MINIMUM", "Mul": "MULTIPLY", "NotEqual": "NOT_EQUAL", "Pow": "POWER", "Rem": "REMAINDER",
    "Shl": "SHIFT_LEFT", "Shr": "SHIFT_RIGHT", "ShrSE": "SHIFT_RIGHT_SIGN_EXTEND", "Sub": "SUBTRACT",
    "VarianceToInvStdDev": "VARIANCE_TO_INV_STD_DEV", "Select": "SELECT", "Clamp": "CLAMP",
}  # fmt: skip


def operation_class(name: str) -> type[Operated]:
    """The public class of an operation, which takes its operands alone."""
    operation = BY_NAME[NAMES[name]]
    base = _CLASSES[operation.__class__]

    def __init__(self: Operated, *arguments: Any) -> None:  # noqa: N807  the method of the class made below
        base.__init__(self, operation, *arguments)

    return type(name, (base,), {
        "__slots__": (), "__init__": __init__, "__hash__": object.__hash__, "__module__": "popops.expr",
        "__doc__": f"{operation.name} of its operands.",
    })  # fmt: skip
