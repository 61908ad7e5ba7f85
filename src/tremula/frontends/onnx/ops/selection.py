"""Largest, smallest, sorted: operators that compare elements along a dimension."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.onnx.ops.unsigned import signed


def _extreme_place(call: Call, tensor: Tensor, largest: bool) -> Tensor:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    keep = call.flag("keepdims", True)
    values = signed(tensor)
    if call.flag("select_last_index"):
        values = values.flip(axis)
    place = values.argmax(axis, keep) if largest else values.argmin(axis, keep)
    return values.shape[axis] - 1 - place if call.flag("select_last_index") else place


@op("ArgMax")
def arg_max(call: Call, tensor: Tensor) -> Tensor:
    return _extreme_place(call, tensor, True)


@op("ArgMin")
def arg_min(call: Call, tensor: Tensor) -> Tensor:
    return _extreme_place(call, tensor, False)


@op("TopK")
def top_k_by_attribute(call: Call, tensor: Tensor) -> tuple[Tensor, Tensor]:
    return _top(tensor, call.integer("k"), call.integer("axis", -1), largest=True)


@op("TopK", since=10, static=(1,))
def top_k(call: Call, tensor: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return _top(tensor, call.value(1), call.integer("axis", -1), largest=call.flag("largest", True))


def _top(tensor: Tensor, count: int, axis: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    axis = axis_of(axis, tensor.dim())
    if count > tensor.shape[axis]:
        raise Error(f"k is {count}, but axis {axis} has {tensor.shape[axis]} elements.")
    # of equal elements the first; torch.topk promises nothing
    _, places = torch.sort(signed(tensor), dim=axis, descending=largest, stable=True)
    places = places.narrow(axis, 0, count)
    return signed(tensor).gather(axis, places).to(tensor.dtype), places


@op("Sort", domain=GRAPHCORE)
def sort(call: Call, tensor: Tensor) -> tuple[Tensor, Tensor]:
    values, places = torch.sort(
        tensor, dim=call.integer("axis", -1), descending=call.flag("descending"), stable=True
    )
    return values, places


@op("Bucketize", domain=GRAPHCORE)
def bucketize(call: Call, tensor: Tensor, bounds: Tensor) -> Tensor:
    return torch.bucketize(tensor, bounds, out_int32=True, right=call.flag("right"))


@op("CumSum", static=(1,))
def cumulative_sum(call: Call, tensor: Tensor, axis: Tensor) -> Tensor:
    dim = axis_of(call.value(1), tensor.dim())
    reverse = call.flag("reverse")
    values = tensor.flip(dim) if reverse else tensor
    total = values.cumsum(dim, dtype=tensor.dtype)
    if call.flag("exclusive"):
        total = total - values
    return total.flip(dim) if reverse else total


@op("Unique", folds=True)
def unique(call: Call, tensor: Tensor) -> list[Tensor]:
    if call.recording:
        raise Error("how many elements are unique is not known before the graph runs.")
    axis = axis_of(call.integer("axis"), tensor.dim()) if call.has("axis") else None
    flat = tensor if axis is not None else tensor.reshape(-1)
    values, inverse, counts = torch.unique(
        flat, sorted=True, return_inverse=True, return_counts=True, dim=axis or 0
    )
    first = torch.full((len(counts),), flat.shape[axis or 0], dtype=torch.int64)
    first = first.scatter_reduce(0, inverse, torch.arange(len(inverse)), "amin")
    if not call.flag("sorted", True):
        order = torch.argsort(first)
        places = torch.argsort(order)
        values, first, counts = values.index_select(axis or 0, order), first[order], counts[order]
        inverse = places[inverse]
    return [values, first, inverse, counts]


@op("NonZero")
def non_zero(call: Call, tensor: Tensor) -> Tensor:
    if call.recording:
        raise Error("how many elements are not zero is not known before the graph runs.")
    return torch.nonzero(tensor).T.contiguous()
