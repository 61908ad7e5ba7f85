"""Arithmetic of values that are the same for all vertices, or arrays with a row for each: in the types of codelets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.python import functions
from tremula.frontends.poplar.codelets.python.access import Array
from tremula.frontends.poplar.errors import ApplicationRuntimeError

Value = Any  # a Python number that is the same for all vertices, or an array with a row for each vertex

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.mod,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def computed(value: Array) -> Array:
    """Whole numbers are computed in 64 bits."""
    return value.astype(np.int64) if value.dtype.kind in "iu" else value


def common(first: Value, second: Value) -> Any:
    """The type of two values together: that of the array among them where the other is a Python number."""
    kinds = [np.asarray(each).dtype for each in (first, second)]
    arrays = [each.dtype for each in (first, second) if isinstance(each, np.ndarray)]
    floats = [each for each in arrays if each.kind == "f"]
    if floats:
        return np.result_type(*floats)
    if any(each.kind == "f" for each in kinds):
        return np.dtype(np.float32)
    if all(each.kind == "b" for each in kinds):
        return np.dtype(np.bool_)
    return np.dtype(np.int64)


def arithmetic(op: str, left: Value, right: Value) -> Value:
    """An operation of two values, in the type that codelets compute it in."""
    if not isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        if op in ("/", "//", "%") and right == 0:
            raise ApplicationRuntimeError("division of a constant by zero")
        return _PLAIN[op](left, right)
    dtype = common(left, right)
    if op == "/" and dtype.kind != "f":
        dtype = np.dtype(np.float32)
    if op == "**":
        return _power(left, right, dtype)
    if dtype.kind == "b" and op in "+-*//%<<>>":
        dtype = np.dtype(np.int64)
    return ARITHMETIC[op](np.asarray(left, dtype), np.asarray(right, dtype))


def _power(left: Value, right: Value, dtype: Any) -> Value:
    if dtype.kind == "f":
        return np.power(np.asarray(left, dtype), np.asarray(right, dtype))
    base, exponent = np.asarray(left, np.int64), np.asarray(right, np.int64)
    if (exponent < 0).any():
        return np.power(base.astype(np.float32), exponent.astype(np.float32))
    return np.power(base, exponent)


def call(name: str, values: list[Value]) -> Value:
    """A function of numbers."""
    function = functions.TABLE[name]
    if function.result == "same" and len(values) > 1:
        dtype = common(*values)
        values = [np.asarray(each, dtype) for each in values]
        found = function.numpy(*values)
        return found if np.ndim(found) else found.item()
    if function.result == "same" and isinstance(values[0], np.ndarray) and values[0].dtype == bool:
        values = [values[0].astype(np.int64)]
    found = function.numpy(*values)
    if any(isinstance(each, np.ndarray) and each.ndim for each in values):
        return found
    return np.asarray(found).item()
