"""Ops that move, cut and join tensors without computing, and copies between IPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.popxl.elements import ELEMENTS
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Alias, Function, kernel


def _register(kind: str, in_place: str, make: Callable[[Op], Function], op_type: str = "") -> None:
    kernel(kind, op_type=op_type, alias=Alias.MAYBE)(make)
    if in_place:
        kernel(in_place, alias=Alias.VIEW)(make)


def _reshape(op: Op) -> Function:
    shape = list(op.attributes["shape"])
    return lambda tensor: tensor.reshape(shape)


def _transpose(op: Op) -> Function:
    permutation = list(op.attributes["permutation"])
    return lambda tensor: tensor.permute(permutation)


def _identity(op: Op) -> Function:
    return lambda tensor: tensor


def _range_of(extent: int, start: int, stop: int, step: int) -> tuple[int, int, int]:
    return slice(start, stop if step > 0 or stop > -extent - 1 else None, step).indices(extent)


def _slice(op: Op) -> Function:
    shape = op.inputs[0].type.shape
    cuts: list[Any] = [slice(None)] * len(shape)
    turned: list[int] = []
    attributes = op.attributes
    for axis, start, stop, step in zip(
        attributes["axes"], attributes["starts"], attributes["stops"], attributes["steps"], strict=True
    ):
        axis = axis % len(shape) if shape else axis
        if not 0 <= axis < len(shape):
            raise graph_error(f"There is no axis {axis} to slice in a tensor of the shape {shape}.")
        first, last, by = _range_of(shape[axis], start, stop, step)
        if by < 0:
            places = range(first, last, by)
            low = places[-1] if places else 0
            first, last, by = low, (places[0] + 1 if places else 0), -by
            turned.append(axis)
        cuts[axis] = slice(first, max(first, last), by)
    index = tuple(cuts)
    if not turned:
        return lambda tensor: tensor[index]
    return lambda tensor: tensor[index].flip(turned)


def _subsample(op: Op) -> Function:
    index = tuple(slice(None, None, stride) for stride in op.attributes["strides"])
    return lambda tensor: tensor[index]


_register("Reshape", "ReshapeInplace", _reshape)
_register("Transpose", "TransposeInplace", _transpose)
_register("Identity", "IdentityInplace", _identity)
_register("Detach", "DetachInplace", _identity)
_register("Slice", "SliceInplace", _slice)
_register("Subsample", "", _subsample)
_register("IpuCopy", "", _identity)
_register("IoTileCopy", "", _identity)


@kernel("LinearLayout", alias=Alias.MAYBE)
def _layout(op: Op) -> Function:
    return _identity(op)


@kernel("Split", alias=Alias.MAYBE)
def _split(op: Op) -> Function:
    sizes, axis = list(op.attributes["splits"]), op.attributes["axis"]
    return lambda tensor: torch.split(tensor, sizes, axis)


def _concat(op: Op) -> Function:
    axis = op.attributes["axis"]
    return lambda *tensors: torch.cat(tensors, axis)


kernel("Concat")(_concat)
# torch cannot join tensors without copying them: changes of the result do not reach the inputs
kernel("ConcatInplace")(_concat)


def _init_info(op: Op) -> dict[int, TensorInfo]:
    attributes = op.attributes
    return {0: TensorInfo(attributes["dtype"], attributes["shape"], attributes.get("meta_shape", ()))}


@kernel("Init", infer=_init_info)
def _init(op: Op) -> Function:
    """Zeros, also where the device would leave what was in memory."""
    shape, carrier = list(op.attributes["shape"]), ELEMENTS[op.attributes["dtype"]].carrier
    if carrier.is_floating_point and carrier.itemsize == 1:
        return lambda: torch.zeros(shape, dtype=torch.uint8).view(carrier)
    return lambda: torch.zeros(shape, dtype=carrier)


def _places(tensor: Tensor, offset: Tensor, axes: Sequence[int], sizes: Sequence[int]) -> list[Tensor]:
    offsets = offset.long().reshape(-1)
    return [
        torch.remainder(offsets[number] + torch.arange(size, device=tensor.device), tensor.shape[axis])
        for number, (axis, size) in enumerate(zip(axes, sizes, strict=True))
    ]


def _check_parts(op: Op) -> None:
    axes, sizes = op.attributes["axes"], op.attributes["sizes"]
    if not len(axes) == len(sizes) == max(1, op.inputs[1].type.elements):
        raise graph_error(
            f"There are {len(axes)} axes, {len(sizes)} sizes and {op.inputs[1].type.elements} offsets."
        )


@kernel("DynamicSlice")
def _dynamic_slice(op: Op) -> Function:
    _check_parts(op)
    axes, sizes = op.attributes["axes"], op.attributes["sizes"]

    def run(tensor: Tensor, offset: Tensor) -> Tensor:
        for axis, places in zip(axes, _places(tensor, offset, axes, sizes), strict=True):
            tensor = tensor.index_select(axis, places)
        return tensor

    return run


def _dynamic_update(op: Op, *, in_place: bool) -> Function:
    _check_parts(op)
    axes, sizes = op.attributes["axes"], op.attributes["sizes"]

    def run(tensor: Tensor, offset: Tensor, part: Tensor) -> Tensor:
        places = _places(tensor, offset, axes, sizes)
        part = part.to(tensor.dtype)
        target = tensor if in_place else tensor.clone()
        if len(places) == 1:
            return target.index_copy_(axes[0], places[0], part)
        index = []
        for dim, extent in enumerate(tensor.shape):
            along = places[axes.index(dim)] if dim in axes else torch.arange(extent, device=tensor.device)
            index.append(along.reshape([-1 if each == dim else 1 for each in range(tensor.dim())]))
        shape = [max(each.shape[dim] for each in index) for dim in range(tensor.dim())]
        return target.index_put_(tuple(index), part.reshape(shape))

    return run


kernel("DynamicUpdate")(lambda op: _dynamic_update(op, in_place=False))
kernel("DynamicUpdateInplace", modifies=[0])(lambda op: _dynamic_update(op, in_place=True))


def _gather(op: Op) -> Function:
    """Rows that do not exist are zeros, whether that was asked for or not."""
    axis, groups = op.attributes["axis"], op.attributes.get("group_size", 1)
    rank = len(op.inputs[0].type.shape)
    axis = axis % rank if rank else axis
    if groups > 1 and axis == 0:
        raise graph_error(f"GatherOp: axis = {axis} indicates the dimension of the group.")

    def one(tensor: Tensor, indices: Tensor, along: int) -> Tensor:
        places = indices.long().reshape(-1)
        extent = tensor.shape[along]
        inside = (places >= 0) & (places < extent)
        known = not isinstance(places, FakeTensor) and places.device.type != "meta"
        all_exist = known and bool(inside.all())
        chosen = tensor.index_select(along, places if all_exist else places.clamp(0, extent - 1))
        if not all_exist:
            shape = [-1 if dim == along else 1 for dim in range(tensor.dim())]
            chosen = torch.where(inside.reshape(shape), chosen, torch.zeros_like(chosen))
        return chosen.reshape(*tensor.shape[:along], *indices.shape, *tensor.shape[along + 1 :])

    def run(tensor: Tensor, indices: Tensor) -> Tensor:
        if groups <= 1:
            return one(tensor, indices, axis)
        return torch.stack([one(tensor[each], indices[each], axis - 1) for each in range(groups)])

    return run


kernel("Gather")(_gather)
kernel("TiedGather")(_gather)


@kernel("Histogram", dtypes=["uint32"])
def _histogram(op: Op) -> Function:
    levels, absolute = list(op.attributes["levels"]), op.attributes["absolute"]

    def run(tensor: Tensor) -> Tensor:
        values = (tensor.abs() if absolute else tensor).reshape(-1).float()
        bounds = torch.tensor(levels, dtype=torch.float32, device=values.device)
        places = torch.bucketize(values, bounds, right=True)
        counts = torch.zeros(len(levels) + 1, dtype=torch.int64, device=values.device)
        return counts.scatter_add(0, places, torch.ones_like(places))

    return run
