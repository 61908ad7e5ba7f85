"""Scattered reductions, grouped gathers, and splines of graph networks."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.onnx.ops.unsigned import signed

_REDUCTIONS = {"sum": "sum", "max": "amax", "min": "amin", "mul": "prod", "none": ""}
_BY_NUMBER = ("sum", "max", "min", "mul", "none")


def _reduction(call: Call) -> str:
    given = call.node.attributes.get("reduction", "sum")
    name = _BY_NUMBER[given] if isinstance(given, int) and 0 <= given < 5 else str(given).lower()
    if name not in _REDUCTIONS:
        raise Error(f"'{given}' is not a reduction; choose from {', '.join(_REDUCTIONS)}.")
    return name


@op("ScatterReduce", domain=GRAPHCORE)
def scatter_reduce(call: Call, source: Tensor, index: Tensor, initial: Tensor | None = None) -> Tensor:
    """Elements of `source` reduced into the places of a dimension that `index` gives.

    Without initial values a place that nothing goes to has 0, or 1 for products.
    """
    grouped = call.integer("group_size", 1) > 1
    axis = axis_of(call.integer("axis", -1), source.dim())
    if grouped and axis == 0:
        raise Error(f"axis {axis} is the dimension of the groups.")
    size = call.integer("axis_size")
    places = signed(index).long()
    if places.dim() < source.dim():
        places = _along(places, source, axis, grouped)
    if call.flag("enable_index_broadcast", True):
        places = places.expand(source.shape)
    reduction = _reduction(call)
    # without broadcasting there are as many places as the index has, as in torch
    shape = [size if dim == axis else extent for dim, extent in enumerate(places.shape)]
    start = initial
    if start is None:
        start = source.new_ones(shape) if reduction == "mul" else source.new_zeros(shape)
    if start.shape != places.shape:
        # torch's quick path for an expanded index takes both to have the same shape
        places = places.contiguous()
    if reduction == "none":
        return start.scatter(axis, places, source)
    return start.scatter_reduce(
        axis, places, source, _REDUCTIONS[reduction], include_self=initial is not None
    )


def _along(places: Tensor, source: Tensor, axis: int, grouped: bool) -> Tensor:
    """Places given for one dimension, with ones for the others."""
    if places.dim() == source.dim():
        return places
    shape = [1] * source.dim()
    if grouped:
        shape[0] = places.shape[0]
    if places.numel() != shape[0] * source.shape[axis]:
        raise Error(
            f"an index of the shape {list(places.shape)} does not fit {list(source.shape)} along axis {axis}."
        )
    shape[axis] = source.shape[axis]
    return places.reshape(shape)


@op("GroupedGather", domain=GRAPHCORE)
def grouped_gather(call: Call, tensor: Tensor, indices: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    groups = call.integer("group_size", 1)
    if groups <= 1:
        return _gathered(tensor, indices, axis)
    if axis == 0:
        raise Error(f"GatherOp: axis = {axis} indicates the dimension of the group.")
    if tensor.shape[0] != groups or indices.shape[0] != groups:
        raise Error(f"the first dimensions must be the {groups} groups.")
    return torch.stack([_gathered(tensor[each], indices[each], axis - 1) for each in range(groups)])


def _gathered(tensor: Tensor, indices: Tensor, axis: int) -> Tensor:
    chosen = tensor.index_select(axis, signed(indices).long().reshape(-1))
    return chosen.reshape(*tensor.shape[:axis], *indices.shape, *tensor.shape[axis + 1 :])


@op("PopartTiedGather", domain=GRAPHCORE)
def tied_gather(call: Call, tensor: Tensor, indices: Tensor) -> Tensor:
    return _gathered(tensor, indices, axis_of(call.integer("axis", 0), tensor.dim()))


def _basis(value: Tensor, number: int, degree: int) -> Tensor:
    """The B-spline basis functions of degrees 1 to 3 on the unit interval."""
    v = value
    if degree == 1:
        return (1 - v, v)[number]
    if degree == 2:
        return (0.5 * v * v - v + 0.5, -v * v + v + 0.5, 0.5 * v * v)[number]
    cubes = (
        (1 - v) ** 3 / 6,
        (3 * v**3 - 6 * v**2 + 4) / 6,
        (-3 * v**3 + 3 * v**2 + 3 * v + 1) / 6,
        v**3 / 6,
    )
    return cubes[number]


@op("SplineBasis", domain=GRAPHCORE)
def spline_basis(call: Call, pseudo: Tensor, kernel: Tensor, is_open: Tensor) -> list[Tensor]:
    """By point, the values of the basis functions that are not zero there, and the weights that they belong to."""
    degree = call.integer("degree", 1)
    if degree not in (1, 2, 3):
        raise Error(f"splines have degree 1, 2 or 3, not {degree}.")
    dims = pseudo.shape[1]
    if dims > 8:
        raise Error(f"splines of {dims} dimensions are not supported.")
    sizes, opened = kernel.long(), is_open.to(torch.float32)
    scaled = pseudo.float() * (sizes.float() - degree * opened)
    whole, part = scaled.floor(), scaled - scaled.floor()
    values, places = [], []
    for combination in range((degree + 1) ** dims):
        value: Tensor | None = None
        place: Tensor | None = None
        stride: Tensor | None = None
        rest = combination
        for dim in range(dims):
            rest, number = divmod(rest, degree + 1)
            each = _basis(part[:, dim], number, degree)
            value = each if value is None else value * each
            at = (whole[:, dim].long() + number) % sizes[dim]
            at = at if stride is None else at * stride
            place = at if place is None else place + at
            stride = sizes[dim] if stride is None else stride * sizes[dim]
        if value is not None and place is not None:
            values.append(value)
            places.append(place)
    return [torch.stack(values, 1).to(pseudo.dtype), torch.stack(places, 1).to(torch.int32)]


@op("SplineWeighting", domain=GRAPHCORE)
def spline_weighting(call: Call, tensor: Tensor, weights: Tensor, basis: Tensor, places: Tensor) -> Tensor:
    """Each point times the weights at its places, weighted by the basis functions."""
    chosen = weights.index_select(0, places.long().reshape(-1))
    chosen = chosen.reshape(*places.shape, *weights.shape[1:])
    mixed = (chosen * basis.unsqueeze(-1).unsqueeze(-1)).sum(1)
    return torch.bmm(tensor.unsqueeze(1), mixed).squeeze(1)
