"""Padding: constant, edge, reflect and wrap, in any dimension; negative pads cut off."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of, listed
from tremula.frontends.onnx.ops.table import op


@op("Pad")
def pad_by_attributes(call: Call, tensor: Tensor) -> Tensor:
    pads = call.integers("pads" if call.has("pads") else "paddings")
    return padded(
        tensor, _checked(pads, tensor.dim()), call.text("mode", "constant"), call.number("value", 0.0)
    )


@op("Pad", since=11, static=(1, 3), grows=True)
def pad(
    call: Call, tensor: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None
) -> Tensor:
    given = call.values(1)
    if axes is not None:
        chosen = [axis_of(axis, tensor.dim()) for axis in call.values(3)]
        whole = [0] * (2 * tensor.dim())
        for place, axis in enumerate(chosen):
            whole[axis], whole[axis + tensor.dim()] = given[place], given[place + len(chosen)]
        given = whole
    mode = call.text("mode", "constant")
    known = call.scalar(2)
    if value is None or known is not None:
        return padded(tensor, _checked(given, tensor.dim()), mode, known or 0)
    # a value that is not known yet is what the padded places of a mask select
    there = padded(torch.ones_like(tensor, dtype=torch.bool), given, "constant", 0)
    return torch.where(there, padded(tensor, given, "constant", 0), value.reshape(()))


def _checked(pads: list[int], dims: int) -> list[int]:
    if len(pads) != 2 * dims:
        raise Error(
            f"Padding vector (length {len(pads)}) does not have twice as many numbers as there are dimensions ({dims})."
        )
    return pads


def padded(tensor: Tensor, pads: list[int], mode: str, value: float = 0.0) -> Tensor:
    """`tensor` with `pads`: all numbers of elements before the dimensions, then all behind them."""
    dims = tensor.dim()
    if mode == "constant":
        order = [count for dim in reversed(range(dims)) for count in (pads[dim], pads[dim + dims])]
        if tensor.dtype is torch.bool:
            return functional.pad(tensor.to(torch.uint8), order, value=int(bool(value))).bool()
        return functional.pad(tensor, order, value=value)
    for dim in range(dims):
        before, behind = pads[dim], pads[dim + dims]
        if before or behind:
            places = _places(tensor.shape[dim], before, behind, mode)
            tensor = tensor.index_select(dim, torch.tensor(places, dtype=torch.int64, device=tensor.device))
    return tensor


def _places(extent: int, before: int, behind: int, mode: str) -> list[int]:
    """Where the elements of a padded dimension come from."""
    chosen = listed(range(-before, extent + behind))
    if mode == "edge":
        return [min(max(place, 0), extent - 1) for place in chosen]
    if mode == "wrap":
        return [place % extent for place in chosen]
    if mode == "reflect":
        period = max(2 * (extent - 1), 1)
        return [min(place % period, period - place % period) if extent > 1 else 0 for place in chosen]
    raise Error(f"'{mode}' is not a mode of padding; choose from constant, edge, reflect and wrap.")
