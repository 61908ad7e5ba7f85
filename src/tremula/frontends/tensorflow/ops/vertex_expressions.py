"""Elementwise expressions that a program writes in Python for a vertex of its own.

An expression is a tree. The device makes C++ of it (`lower`); here `evaluate` computes it on tensors, with the
broadcasting of elementwise ops, so that a program can use it without a compiler for codelets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import tensorflow.compat.v2 as tf

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": tf.add,
    "-": tf.subtract,
    "*": tf.multiply,
    "/": tf.divide,
    "std::max": tf.maximum,
    "std::fmax": tf.maximum,
    "std::min": tf.minimum,
    "std::fmin": tf.minimum,
    "std::pow": tf.pow,
    "std::atan2": tf.atan2,
    "<": tf.less,
    "<=": tf.less_equal,
    ">": tf.greater,
    ">=": tf.greater_equal,
    "==": tf.equal,
    "!=": tf.not_equal,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "std::abs": tf.abs,
    "std::fabs": tf.abs,
    "std::exp": tf.exp,
    "std::log": tf.math.log,
    "std::sqrt": tf.sqrt,
    "std::sin": tf.sin,
    "std::cos": tf.cos,
    "std::tan": tf.tan,
    "std::tanh": tf.tanh,
    "std::floor": tf.floor,
    "std::ceil": tf.math.ceil,
}


class BaseType(IntEnum):
    """Kinds of types."""

    Unknown = 0
    Int16 = 1
    Int32 = 2
    Float16 = 3
    Float32 = 4
    Sequence = 5


class Type:
    """The type of an expression."""

    def __init__(self, type: BaseType) -> None:
        self._type = type

    def getType(self) -> BaseType:  # noqa: N802
        """Its kind."""
        return self._type

    def getElementType(self) -> BaseType:  # noqa: N802
        """The kind of its elements."""
        return self.getType()


class Unknown(Type):
    """Not known."""

    def __init__(self) -> None:
        super().__init__(BaseType.Unknown)


class Int16(Type):
    """Short integers."""

    def __init__(self) -> None:
        super().__init__(BaseType.Int16)


class Int32(Type):
    """Integers."""

    def __init__(self) -> None:
        super().__init__(BaseType.Int32)


class Float16(Type):
    """Half precision."""

    def __init__(self) -> None:
        super().__init__(BaseType.Float16)


class Float32(Type):
    """Single precision."""

    def __init__(self) -> None:
        super().__init__(BaseType.Float32)


class Sequence(Type):
    """A sequence of another type."""

    def __init__(self, element_type: Type) -> None:
        super().__init__(BaseType.Sequence)
        self._element_type = element_type

    def getElementType(self) -> BaseType:  # noqa: N802
        """The kind of its elements."""
        return self._element_type.getElementType()


class DefaultNameSource:
    """Numbers for the names of variables: 0, 1, 2, ..."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def GetNextName(self) -> int:  # noqa: N802
        """The next number."""
        return next(self._numbers)


class VertexExpression:
    """A node of an expression."""

    def __init__(self, type: Type | None) -> None:
        self._type = type

    def __abs__(self) -> VertexExpression:
        return UnaryFunctionExpr("std::abs", self)

    def __add__(self, other: Any) -> VertexExpression:
        return BinaryExpr("+", self, other)

    def __sub__(self, other: Any) -> VertexExpression:
        return BinaryExpr("-", self, other)

    def __mul__(self, other: Any) -> VertexExpression:
        return BinaryExpr("*", self, other)

    def __neg__(self) -> VertexExpression:
        return BinaryExpr("-", ConstantVertexExpr(0), self)

    def __invert__(self) -> VertexExpression:
        return -self

    def __pos__(self) -> VertexExpression:
        return self

    def getType(self) -> Type | None:  # noqa: N802
        """The type, where it is known."""
        return self._type

    def __str__(self) -> str:
        return self.lower(DefaultNameSource())

    def lower(self, source: DefaultNameSource) -> str:
        """The expression as C++."""
        raise NotImplementedError(f"{type(self).__name__} has no C++ form: define lower().")

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The expression as a tensor, given those of its placeholders."""
        raise NotImplementedError(f"{type(self).__name__} has no value: define evaluate().")


class ConstantVertexExpr(VertexExpression):
    """A number."""

    def __init__(self, val: float) -> None:
        if not isinstance(val, int | float):
            raise NotImplementedError(f"A constant of an expression is an int or a float, not {val!r}.")
        super().__init__(Int32() if isinstance(val, int) else Float32())
        self._val = val

    def lower(self, source: DefaultNameSource) -> str:
        """The number in parentheses."""
        return f"({self._val})"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The number; it takes the type of what it is combined with."""
        return self._val


class PlaceholderVertexExpr(VertexExpression):
    """An input."""

    def __init__(self, name: str, type: Type | None = None) -> None:
        super().__init__(type)
        self._name = name

    def lower(self, source: DefaultNameSource) -> str:
        """Its name."""
        return self._name

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Its tensor."""
        return values[self._name]


class _Operation(VertexExpression):
    def __init__(self, op: str, *operands: Any) -> None:
        parts = [
            each if isinstance(each, VertexExpression) else ConstantVertexExpr(each) for each in operands
        ]
        super().__init__(parts[0].getType())
        self._op, self._operands = op, parts

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The op on the values of its operands."""
        table: Mapping[str, Callable[..., Any]] = _UNARY if len(self._operands) == 1 else _BINARY
        if self._op not in table:
            raise NotImplementedError(
                f"The function {self._op!r} of a codelet expression is C++ that only a compiler for codelets can "
                f"translate. These are computed here: {', '.join(table)}."
            )
        operands = [each.evaluate(values) for each in self._operands]
        kind = next((each.dtype for each in operands if tf.is_tensor(each)), None)
        return table[self._op](*(tf.convert_to_tensor(each, dtype=kind) for each in operands))


class BinaryExpr(_Operation):
    """Two operands with a symbol between them."""

    def __init__(self, op: str, lhs: Any, rhs: Any) -> None:
        super().__init__(op, lhs, rhs)

    def lower(self, source: DefaultNameSource) -> str:
        """Both in parentheses."""
        left, right = (each.lower(source) for each in self._operands)
        return f"({left}{self._op}{right})"


class BinaryFunctionExpr(_Operation):
    """A function of two operands."""

    def __init__(self, op: str, lhs: Any, rhs: Any) -> None:
        super().__init__(op, lhs, rhs)

    def lower(self, source: DefaultNameSource) -> str:
        """A call."""
        left, right = (each.lower(source) for each in self._operands)
        return f"({self._op}({left},{right}))"


class UnaryFunctionExpr(_Operation):
    """A function of one operand."""

    def __init__(self, op: str, lhs: Any) -> None:
        super().__init__(op, lhs)

    def lower(self, source: DefaultNameSource) -> str:
        """A call."""
        return f"({self._op}({self._operands[0].lower(source)}))"


class LetVertexExpr(VertexExpression):
    """A part that has a name inside another expression: it is computed once."""

    def __init__(self, expr: VertexExpression, f: Callable[[VertexExpression], VertexExpression]) -> None:
        super().__init__(f(expr).getType())
        self._expr, self._f = expr, f

    def lower(self, source: DefaultNameSource) -> str:
        """A lambda that is called at once."""
        name = f"var{source.GetNextName()}"
        body = self._f(PlaceholderVertexExpr(name)).lower(source)
        return f"[&, {name}={self._expr.lower(source)}]{{return {body};}}()"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The inner expression with the value of the part."""
        name = f"let {len(values)}"
        bound = {**values, name: self._expr.evaluate(values)}
        return self._f(PlaceholderVertexExpr(name)).evaluate(bound)


class Conditional(VertexExpression):
    """One of two expressions, elementwise."""

    def __init__(self, pred: VertexExpression, a: VertexExpression, b: VertexExpression) -> None:
        super().__init__(a.getType())
        self._pred, self._a, self._b = pred, a, b

    def lower(self, source: DefaultNameSource) -> str:
        """The conditional operator."""
        return f"(({self._pred.lower(source)}) ? ({self._a.lower(source)}) : ({self._b.lower(source)}))"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Chosen where the condition holds, or is not zero."""
        chosen = tf.cast(self._pred.evaluate(values), tf.bool)
        return tf.where(chosen, self._a.evaluate(values), self._b.evaluate(values))


def constant(value: float) -> VertexExpression:
    """A number as an expression."""
    return ConstantVertexExpr(value)


def let(expr: VertexExpression, f: Callable[[VertexExpression], VertexExpression]) -> VertexExpression:
    """`f(expr)`, in which `expr` is computed once."""
    return LetVertexExpr(expr, f)


def condition(pred: VertexExpression, a: VertexExpression, b: VertexExpression) -> VertexExpression:
    """`a` where `pred` holds, else `b`."""
    return Conditional(pred, a, b)
