"""Checks that work which was read from a file could be that of a program, so that a planner can cost it.

Types are checked when it is decoded. Here: types of numbers and kinds that planners know, counts that are not negative
and not larger than those of any program, as many extents as there are dimensions.
"""

from __future__ import annotations

import dataclasses
import math

from tremula.checked_json import BadValue
from tremula.program.dtypes import ITEM_BYTES
from tremula.program.work import Convolution, Pool, Random, Recurrent, SparseMatMul, Stencil, Work

#: elements of the largest operand, and the largest extent of a dimension
_MOST_ELEMENTS = 1 << 40
_MOST_EXTENT = 1 << 28
_MOST_IPUS = 4096
_MOST_DIMENSIONS = 8
#: figures of a user's own vertices
_MOST_CYCLES = 1e12

_DTYPES = ("dtype", "partials", "output_dtype")
_KINDS: dict[type, frozenset[str]] = {
    Pool: frozenset({"max", "average", "sum"}),
    Random: frozenset({"uniform", "normal", "truncated_normal", "bernoulli", "dropout"}),
    Recurrent: frozenset({"lstm", "gru", "rnn"}),
}
_PARTITIONS = frozenset({"auto", "blocks", "factors", "best"})
#: fields with one entry for each dimension
_PER_DIMENSION: dict[type, tuple[str, ...]] = {
    Convolution: ("field", "kernel", "stride", "padding", "dilation", "input_dilation"),
    Pool: ("field", "kernel", "stride"),
    Stencil: ("grid", "smallest_block"),
}
#: what something is divided by
_AT_LEAST_ONE = (
    "kernel",
    "stride",
    "dilation",
    "input_dilation",
    "grid",
    "smallest_block",
    "groups",
    "block",
    "vector",
)
_SHARES = ("proportion", "density")


def check_work(work: Work) -> None:
    """Raise BadValue if no program has such work."""
    kind = type(work)
    for field in dataclasses.fields(work):
        value = getattr(work, field.name)
        if value is not None:
            _check_value(f"{field.name} of a {kind.__name__}", field.name, value)
    known = _KINDS.get(kind)
    if known is not None and getattr(work, "kind") not in known:  # noqa: B009 (not all works have one)
        raise BadValue(f"no {kind.__name__} is called {getattr(work, 'kind')[:40]!r}")  # noqa: B009
    counts = {
        len(value) for name in _PER_DIMENSION.get(kind, ()) if (value := getattr(work, name)) is not None
    }
    if len(counts) > 1 or any(not 1 <= count <= _MOST_DIMENSIONS for count in counts):
        raise BadValue(f"the extents of a {kind.__name__} do not have the same number of dimensions")
    if isinstance(work, Stencil) and work.partition not in _PARTITIONS:
        raise BadValue(f"a Stencil is cut into {work.partition[:40]!r}")
    if isinstance(work, Stencil) and not 1 <= work.ipus <= _MOST_IPUS:
        raise BadValue(f"a Stencil is on {work.ipus} IPUs")
    if isinstance(work, SparseMatMul) and work.block > min(work.rows, work.inner):
        raise BadValue("the blocks of a SparseMatMul are larger than its matrix")


def _check_value(where: str, name: str, value: object) -> None:
    if name in _DTYPES:
        if value not in ITEM_BYTES:
            raise BadValue(f"{where} is {str(value)[:40]!r}, which is not a type of numbers")
    elif isinstance(value, bool | str):
        return
    elif isinstance(value, float):
        most = 1.0 if name in _SHARES else _MOST_CYCLES
        if not (math.isfinite(value) and 0.0 <= value <= most):
            raise BadValue(f"{where} is {value}")
    elif isinstance(value, int):
        _check_count(where, name, value, _MOST_ELEMENTS if name.endswith("elements") else _MOST_EXTENT)
    elif isinstance(value, tuple):
        for each in value:
            if isinstance(each, tuple):  # padding, which may cut off
                for part in each:
                    _check_count(where, name, abs(part), _MOST_EXTENT)
            else:
                _check_count(where, name, each, _MOST_EXTENT)


def _check_count(where: str, name: str, value: int, most: int) -> None:
    if not (name in _AT_LEAST_ONE) <= value <= most:
        raise BadValue(f"{where} is {value}")
