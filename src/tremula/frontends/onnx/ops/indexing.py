"""Elements at places that tensors give."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import op
from tremula.frontends.onnx.ops.unsigned import signed

_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _places(indices: Tensor, extent: int) -> Tensor:
    """Indices counted from the front; negative ones count from the end."""
    indices = signed(indices).long()
    return torch.where(indices < 0, indices + extent, indices)


@op("Gather")
def gather(call: Call, tensor: Tensor, indices: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    bounds = call.bounds(1)
    if bounds is not None:
        least, most = bounds
        extent = tensor.shape[axis]
        if least < -extent or most >= max(extent, 1):
            raise Error(f"index {least if least < -extent else most} is out of range for {extent} elements.")
        if indices.dim() == 0:
            return tensor.select(axis, least)
        places = indices.long() if least >= 0 else _places(indices, extent)
    else:
        places = _places(indices, tensor.shape[axis])
    if axis == 0 and tensor.dim() == 2 and tensor.is_floating_point():
        return torch.nn.functional.embedding(places, tensor)
    chosen = tensor.index_select(axis, places.reshape(-1))
    return chosen.reshape(*tensor.shape[:axis], *indices.shape, *tensor.shape[axis + 1 :])


@op("GatherElements")
def gather_elements(call: Call, tensor: Tensor, indices: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    return tensor.gather(axis, _places(indices, tensor.shape[axis]))


@op("GatherND")
def gather_nd(call: Call, tensor: Tensor, indices: Tensor) -> Tensor:
    batch = call.integer("batch_dims", 0)
    deep = indices.shape[-1]
    lead = math.prod(tensor.shape[:batch])
    inner = tensor.shape[batch : batch + deep]
    rest = tensor.shape[batch + deep :]
    flat = tensor.reshape(lead * math.prod(inner), *rest)
    places = _flat_places(indices, inner).reshape(lead, -1)
    places = places + torch.arange(lead, device=tensor.device).unsqueeze(1) * math.prod(inner)
    return flat.index_select(0, places.reshape(-1)).reshape(*indices.shape[:-1], *rest)


def _flat_places(indices: Tensor, extents: torch.Size) -> Tensor:
    """Places in the flattened dimensions `extents`, from tuples along the last dimension."""
    result: Tensor | None = None
    for place, extent in enumerate(extents):
        each = _places(indices[..., place], extent)
        result = each if result is None else result * extent + each
    return torch.zeros(indices.shape[:-1], dtype=torch.int64) if result is None else result


@op("Scatter", "ScatterElements")
def scatter_elements(call: Call, tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    reduction = call.text("reduction", "none")
    places = _places(indices, tensor.shape[axis])
    if reduction == "none":
        return tensor.scatter(axis, places, updates)
    return tensor.scatter_reduce(axis, places, updates, _reduction(reduction))


@op("ScatterND")
def scatter_nd(call: Call, tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    deep = indices.shape[-1]
    rest = tensor.shape[deep:]
    flat = tensor.reshape(math.prod(tensor.shape[:deep]), math.prod(rest))
    places = _flat_places(indices, tensor.shape[:deep]).reshape(-1, 1).expand(-1, math.prod(rest))
    given = updates.reshape(places.shape)
    reduction = call.text("reduction", "none")
    if reduction == "none":
        return flat.scatter(0, places, given).reshape(tensor.shape)
    return flat.scatter_reduce(0, places, given, _reduction(reduction)).reshape(tensor.shape)


def _reduction(name: str) -> str:
    if name not in _REDUCTIONS:
        raise Error(f"'{name}' is not a reduction; choose from none, {', '.join(_REDUCTIONS)}.")
    return _REDUCTIONS[name]


@op("OneHot", static=(1,), grows=True)
def one_hot(call: Call, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    count = call.value(1) if not depth.is_floating_point() else int(call.reals(1)[0])
    axis = axis_of(call.integer("axis", -1), indices.dim() + 1)
    classes = torch.arange(count, device=indices.device)
    places = signed(indices).long() if not indices.is_floating_point() else indices.long()
    places = torch.where(places < 0, places + count, places)
    hot = places.unsqueeze(axis) == classes.reshape(-1, *[1] * (indices.dim() - axis))
    off, on = values[0], values[1]
    return torch.where(hot, on, off)


@op("Where")
def where(call: Call, condition: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return torch.where(condition.bool(), first, second)


@op("Compress", static=(1,))
def compress(call: Call, tensor: Tensor, condition: Tensor) -> Tensor:
    kept = torch.tensor([place for place, value in enumerate(call.values(1)) if value], dtype=torch.int64)
    if not call.has("axis"):
        return tensor.reshape(-1).index_select(0, kept)
    return tensor.index_select(axis_of(call.integer("axis"), tensor.dim()), kept)
