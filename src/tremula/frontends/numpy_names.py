"""Names that numpy had when programs for IPUs were written, and has removed since.

numpy 1.24 removed its aliases of Python's types, numpy 2 and later many second names. A name that the installed numpy
has keeps its meaning.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

#: former alias -> Python's type
_PYTHON = {
    "bool": "bool", "int": "int", "float": "float", "complex": "complex", "object": "object", "str": "str",
    "long": "int", "unicode": "str",
}  # fmt: skip
#: removed name -> the name that numpy kept; a dot leads into a module
_RENAMED = {
    "float_": "float64", "complex_": "complex128", "cfloat": "complex128", "singlecomplex": "complex64",
    "longfloat": "longdouble", "clongfloat": "clongdouble", "longcomplex": "clongdouble",
    "string_": "bytes_", "unicode_": "str_",
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan",
    "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any", "round_": "round",
    "row_stack": "vstack", "trapz": "trapezoid", "mat": "asmatrix",
    "AxisError": "exceptions.AxisError", "ComplexWarning": "exceptions.ComplexWarning",
    "RankWarning": "exceptions.RankWarning",
    "VisibleDeprecationWarning": "exceptions.VisibleDeprecationWarning",
}  # fmt: skip


def _as_float_array(a: Any, dtype: Any = np.float64) -> Any:
    """asfarray: what is not floating point becomes float64."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


#: removed functions that no single name replaces, and values
_OTHERS: dict[str, Any] = {
    "NINF": -np.inf,
    "NZERO": -0.0,
    "PZERO": 0.0,
    "asfarray": _as_float_array,
    "asscalar": lambda a: a.item(),
    "in1d": lambda ar1, ar2, assume_unique=False, invert=False: np.isin(
        np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert
    ),
    "msort": lambda a: np.sort(a, axis=0),
}
NAMES = frozenset({*_PYTHON, *_RENAMED, *_OTHERS})


def restore() -> list[str]:
    """Give numpy the names back that it lacks, for the whole process; gives those that were added."""
    added = []
    for name in sorted(NAMES):
        if name not in vars(np):  # hasattr would warn
            setattr(np, name, _meaning(name))
            added.append(name)
    return added


def _meaning(name: str) -> Any:
    if name in _PYTHON:
        return getattr(builtins, _PYTHON[name])
    if name in _OTHERS:
        return _OTHERS[name]
    found: Any = np
    for part in _RENAMED[name].split("."):
        found = getattr(found, part)
    return found
