"""Parts of tensors at places that are known before the graph runs."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of, listed
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


@op("Slice")
@op("Slice", domain=GRAPHCORE)
def slice_by_attributes(call: Call, tensor: Tensor) -> Tensor:
    starts = call.integers("starts")
    axes = call.integers("axes", ()) or list(range(len(starts)))
    return _slice(tensor, starts, call.integers("ends"), axes, [1] * len(starts))


@op("Slice", since=10, static=(1, 2, 3, 4))
def slice_by_inputs(call: Call, tensor: Tensor, *_places: Tensor | None) -> Tensor:
    starts, ends = call.values(1), call.values(2)
    axes = list(range(len(starts))) if call.given(3) is None else call.values(3)
    steps = [1] * len(starts) if call.given(4) is None else call.values(4)
    return _slice(tensor, starts, ends, axes, steps)


def _slice(tensor: Tensor, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Tensor:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Error("starts, ends, axes and steps must have the same length.")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        dim = axis_of(axis, tensor.dim())
        if step == 0:
            raise Error("the step of a slice must not be 0.")
        extent = tensor.shape[dim]
        chosen = range(extent)[slice(_clipped(start), _clipped(end), step)]
        if step > 0:
            tensor = torch.ops.aten.slice.Tensor(
                tensor, dim, chosen.start, max(chosen.stop, chosen.start), step
            )
        elif len(chosen) == extent and step == -1:
            tensor = tensor.flip(dim)
        else:
            tensor = tensor.index_select(
                dim, torch.tensor(listed(chosen), dtype=torch.int64, device=tensor.device)
            )
    return tensor


def _clipped(bound: int) -> int:
    """Exporters write the largest integer for "to the end"."""
    return max(min(bound, 2**62), -(2**62))


@op("Reverse", domain=GRAPHCORE)
def reverse(call: Call, tensor: Tensor) -> Tensor:
    dims = [axis_of(dim, tensor.dim()) for dim in call.integers("dimensions")]
    if len(set(dims)) != len(dims):
        raise Error(f"the dimensions {dims} to reverse name one twice.")
    return tensor.flip(dims)


@op("Subsample", domain=GRAPHCORE)
def subsample(call: Call, tensor: Tensor) -> Tensor:
    strides = call.integers("strides")
    if len(strides) != tensor.dim():
        raise Error(f"Length of strides vector {len(strides)} != number of dimensions {tensor.dim()}.")
    for dim, stride in enumerate(strides):
        if stride == 0:
            raise Error(f"Strides invalid. 0 stride at index {dim}")
        tensor = torch.ops.aten.slice.Tensor(tensor, dim, 0, tensor.shape[dim], stride)
    return tensor
