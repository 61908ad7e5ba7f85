"""The functions of numbers that compute functions may call, on each of the ways that execute them.

`slots` are the instructions that one call takes on the chip, from the figures of its elementwise library functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Function:
    """One function: its number of arguments, its name in C++, its NumPy form, its type and its cost."""

    arguments: int
    cpp: str
    numpy: Callable[..., Any]
    result: str  #: float, int, bool, or "same" as the arguments
    slots: float


def _python_min(a: Any, b: Any) -> Any:
    return np.where(b < a, b, a)


def _python_max(a: Any, b: Any) -> Any:
    return np.where(b > a, b, a)


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value: function(value).astype(np.int64) if np.ndim(value) else int(function(value))


def _float(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for whole numbers, which NumPy would compute in double precision."""

    def call(*values: Any) -> Any:
        return function(
            *(each if np.asarray(each).dtype.kind == "f" else np.asarray(each, np.float32) for each in values)
        )

    return call


def _erf(value: Any) -> Any:
    from math import erf

    made = np.frompyfunc(erf, 1, 1)(value)
    return np.asarray(made, dtype=np.asarray(value).dtype)


TABLE = {
    "abs": Function(1, "tremula_python::absolute", np.abs, "same", 1),
    "min": Function(2, "tremula_python::smaller", _python_min, "same", 2),
    "max": Function(2, "tremula_python::larger", _python_max, "same", 2),
    "int": Function(1, "tremula_python::whole", _whole(np.trunc), "int", 2),
    "bool": Function(1, "bool", lambda value: np.asarray(value) != 0, "bool", 1),
    "float": Function(1, "float", lambda value: np.asarray(value, np.float32), "float", 1),
    "half": Function(1, "half", lambda value: np.asarray(value, np.float16), "half", 1),
    "floor_int": Function(1, "tremula_python::whole_floor", _whole(np.floor), "int", 2),
    "ceil_int": Function(1, "tremula_python::whole_ceil", _whole(np.ceil), "int", 2),
    **{
        name: Function(1, f"std::{cpp}", _float(function), "float", slots)
        for name, cpp, function, slots in (
            ("sqrt", "sqrt", np.sqrt, 5), ("exp", "exp", np.exp, 3), ("exp2", "exp2", np.exp2, 3),
            ("log", "log", np.log, 6), ("log2", "log2", np.log2, 6), ("log10", "log10", np.log10, 7),
            ("log1p", "log1p", np.log1p, 8), ("expm1", "expm1", np.expm1, 8), ("tanh", "tanh", np.tanh, 6),
            ("sin", "sin", np.sin, 60), ("cos", "cos", np.cos, 60), ("tan", "tan", np.tan, 80),
            ("asin", "asin", np.arcsin, 60), ("acos", "acos", np.arccos, 60), ("atan", "atan", np.arctan, 60),
            ("sinh", "sinh", np.sinh, 12), ("cosh", "cosh", np.cosh, 12), ("floor", "floor", np.floor, 1),
            ("ceil", "ceil", np.ceil, 1), ("trunc", "trunc", np.trunc, 1), ("rint", "nearbyint", np.rint, 1),
            ("erf", "erf", _erf, 41),
        )
    },
    "isnan": Function(1, "std::isnan", np.isnan, "bool", 1),
    "isinf": Function(1, "std::isinf", np.isinf, "bool", 1),
    "isfinite": Function(1, "std::isfinite", np.isfinite, "bool", 1),
    "atan2": Function(2, "std::atan2", _float(np.arctan2), "float", 136),
    "hypot": Function(2, "std::hypot", _float(np.hypot), "float", 10),
    "copysign": Function(2, "std::copysign", _float(np.copysign), "float", 2),
    "fmod": Function(2, "std::fmod", _float(np.fmod), "float", 20),
}  # fmt: skip

#: what users call them: by module, then by name
MATH = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "expm1": "expm1", "tanh": "tanh", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos",
    "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "fabs": "abs", "fmod": "fmod", "erf": "erf",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "hypot": "hypot", "copysign": "copysign",
    "floor": "floor_int", "ceil": "ceil_int", "trunc": "int",
}  # fmt: skip
NUMPY = {
    **MATH, "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "abs": "abs", "absolute": "abs",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "maximum": "max", "minimum": "min",
    "float32": "float", "float16": "half", "int32": "int", "bool_": "bool",
}  # fmt: skip
BUILTIN = {"abs": "abs", "min": "min", "max": "max", "int": "int", "bool": "bool", "float": "float"}
REDUCTIONS = {"sum": "sum", "min": "min", "max": "max", "amin": "min", "amax": "max", "prod": "prod"}
