"""Reductions over dimensions, which come as an attribute and, in newer versions, as an input."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.gradients import reduced_extreme
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import GRAPHCORE, op

Reduce = Callable[[Tensor, list[int], bool], Tensor]


def _dropped(result: Tensor, dims: list[int], keep: bool) -> Tensor:
    return result if keep else result.reshape([e for d, e in enumerate(result.shape) if d not in dims])


def _product(tensor: Tensor, dims: list[int], keep: bool) -> Tensor:
    result = tensor
    for dim in dims:
        result = result.prod(dim, keepdim=True, dtype=tensor.dtype)
    return _dropped(result, dims, keep)


def _extreme(tensor: Tensor, dims: list[int], keep: bool, *, largest: bool) -> Tensor:
    if tensor.dtype is torch.bool:
        return _extreme(tensor.to(torch.uint8), dims, keep, largest=largest).bool()
    if any(tensor.shape[dim] == 0 for dim in dims):
        shape = [1 if dim in dims else extent for dim, extent in enumerate(tensor.shape)]
        if tensor.is_floating_point():
            bound = float("-inf") if largest else float("inf")
        else:
            limits = torch.iinfo(tensor.dtype)
            bound = limits.min if largest else limits.max
        return _dropped(tensor.new_full(shape, bound), dims, keep)
    if tensor.is_floating_point():
        return _dropped(reduced_extreme(tensor, dims, largest=largest), dims, keep)
    return tensor.amax(dims, keep) if largest else tensor.amin(dims, keep)


def _mean(tensor: Tensor, dims: list[int], keep: bool) -> Tensor:
    if tensor.is_floating_point():
        return tensor.mean(dims, keep)
    return tensor.double().mean(dims, keep).to(tensor.dtype)


def _log_sum_exp(tensor: Tensor, dims: list[int], keep: bool) -> Tensor:
    return torch.logsumexp(tensor, dims, keep)


_REDUCTIONS: dict[str, Reduce] = {
    "ReduceL1": lambda tensor, dims, keep: tensor.abs().sum(dims, keep, dtype=tensor.dtype),
    "ReduceL2": lambda tensor, dims, keep: (tensor * tensor).sum(dims, keep, dtype=tensor.dtype).sqrt(),
    "ReduceLogSum": lambda tensor, dims, keep: tensor.sum(dims, keep).log(),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": lambda tensor, dims, keep: _extreme(tensor, dims, keep, largest=True),
    "ReduceMean": _mean,
    "ReduceMin": lambda tensor, dims, keep: _extreme(tensor, dims, keep, largest=False),
    "ReduceProd": _product,
    "ReduceSum": lambda tensor, dims, keep: tensor.sum(dims, keep, dtype=tensor.dtype),
    "ReduceSumSquare": lambda tensor, dims, keep: (tensor * tensor).sum(dims, keep, dtype=tensor.dtype),
}
#: what an operator makes of single elements, where there is nothing to reduce
_SINGLE: dict[str, Callable[[Tensor], Tensor]] = {
    "ReduceL1": torch.abs,
    "ReduceL2": torch.abs,
    "ReduceLogSum": torch.log,
    "ReduceSumSquare": torch.square,
}


def reduced_dims(axes: list[int], tensor: Tensor) -> list[int]:
    """The dimensions to reduce, all of them if none is named.

    Raises:
        Error: one is named twice, or there is no such dimension.
    """
    dims = [axis_of(axis, tensor.dim()) for axis in axes]
    if len(set(dims)) != len(dims):
        raise Error(f"the axes {axes} name a dimension twice.")
    return sorted(dims) or list(range(tensor.dim()))


def _names_none(call: Call) -> bool:
    """Whether the attribute says that no dimension is reduced: it is there, and empty."""
    return call.has("axes") and not call.integers("axes")


def _reduction(name: str, reduce: Reduce) -> None:
    single: Callable[[Tensor], Tensor] = _SINGLE.get(name, torch.clone)

    def compute(tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
        if not tensor.dim():
            return single(tensor)
        return reduce(tensor, reduced_dims(axes, tensor), keep)

    @op(name)
    def by_attribute(call: Call, tensor: Tensor) -> Tensor:
        if _names_none(call):
            return single(tensor)
        return compute(tensor, call.integers("axes", ()), call.flag("keepdims", True))

    @op(name, since=13 if name == "ReduceSum" else 18, static=(1,))
    def by_input(call: Call, tensor: Tensor, axes: Tensor | None = None) -> Tensor:
        named = call.integers("axes", ()) if axes is None else call.values(1)
        if not named and call.flag("noop_with_empty_axes"):
            return single(tensor)
        return compute(tensor, named, call.flag("keepdims", True))


for _name, _reduce in _REDUCTIONS.items():
    _reduction(_name, _reduce)


@op("ReduceMedian", domain=GRAPHCORE)
def reduce_median(call: Call, tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The lower median and its place in the flattened dimensions that are reduced."""
    dims = [] if _names_none(call) or not tensor.dim() else reduced_dims(call.integers("axes", ()), tensor)
    keep = call.flag("keepdims", True)
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    flat = tensor.permute(*kept, *dims).reshape(*(tensor.shape[dim] for dim in kept), -1)
    values, places = torch.sort(flat, dim=-1, stable=True)
    middle = (flat.shape[-1] - 1) // 2
    shape = [
        1 if dim in dims else extent for dim, extent in enumerate(tensor.shape) if keep or dim not in dims
    ]
    return values[..., middle].reshape(shape), places[..., middle].reshape(shape)
