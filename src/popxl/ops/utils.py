"""Checks of what ops are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import popart._internal.ir as _ir

from ..dtypes import dtype as Dtype
from ..graph import Graph
from ..tensor import Tensor


def cast_if_needed(t: Tensor, data_type: Dtype) -> Tensor:
    """`t`, in another type if it has not got that."""
    from .elementwise import cast

    return t if t.dtype == data_type else cast(t, data_type)


def check_in_graph(graph: Graph, *args: Any, **tensors: Tensor) -> None:
    """Refuse tensors that are not in `graph`."""
    if args:
        raise TypeError("check_in_graph takes tensors by name.")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor, not {tensor!r} ({type(tensor).__name__}).")
        if tensor not in graph:
            raise ValueError(
                f"The input tensor `{name}` ({tensor.id}) is not in the current graph {graph.name!r}."
            )


def check_tensor_ipu_and_tile_set(*args: Any, **tensors: Tensor) -> None:
    """Refuse tensors on different IPUs or tile sets."""
    if args:
        raise TypeError("check_tensor_ipu_and_tile_set takes tensors by name.")
    first: dict[str, tuple[str, Any]] = {}
    for name, tensor in tensors.items():
        ipu, tile_set = tensor._get_ipu_and_tile_set(False, False)
        for what, value in (("IPUs", ipu if ipu != -1 else None), ("tile sets", tile_set)):
            if value is None or value == "undefined":
                continue
            other, there = first.setdefault(what, (name, value))
            if there != value:
                raise ValueError(
                    f"The tensors `{other}` and `{name}` are on different {what}: {there} and {value}."
                )


def handle_negative_axis(t: Tensor, axis: int) -> int:
    """An axis counted from the front."""
    return len(t.shape) + axis if axis < 0 else axis


def convert_optional_float(v: float | None) -> _ir.OptionalFloat:
    """As the bindings have it."""
    return _ir.OptionalFloat(v)


def convert_optional_int(v: int | None) -> _ir.OptionalInt:
    """As the bindings have it."""
    return _ir.OptionalInt(v)


def convert_optional_dtype(dt: Dtype | None) -> _ir.OptionalDataType:
    """As the bindings have it."""
    return _ir.OptionalDataType(None if dt is None else dt._pb_dtype)


def convert_optional_int64_list(values: Iterable[int] | None) -> _ir.OptionalInt64Vector:
    """As the bindings have it."""
    return _ir.OptionalInt64Vector(None if values is None else list(values))
