"""Operators that move elements without looking at them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of, broadcast
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


@op("Reshape")
def reshape_by_attribute(call: Call, tensor: Tensor) -> Tensor:
    return tensor.reshape(_filled(tensor, call.integers("shape"), keep_zeros=False))


@op("Reshape", since=5, static=(1,))
def reshape(call: Call, tensor: Tensor, shape: Tensor) -> Tensor:
    return tensor.reshape(_filled(tensor, call.values(1), keep_zeros=call.flag("allowzero")))


@op("Reshape", domain=GRAPHCORE)
def reshape_to(call: Call, tensor: Tensor) -> Tensor:
    return tensor.reshape(_filled(tensor, call.integers("shape"), keep_zeros=False))


def _filled(tensor: Tensor, shape: list[int], *, keep_zeros: bool) -> list[int]:
    """A shape whose zeros stand for the extents of `tensor`, unless zeros are meant."""
    filled = []
    for place, extent in enumerate(shape):
        if extent == 0 and not keep_zeros:
            if place >= tensor.dim():
                raise Error(f"the shape {shape} has a 0 where the input has no dimension.")
            extent = tensor.shape[place]
        filled.append(extent)
    if filled.count(-1) > 1 or any(extent < -1 for extent in filled):
        raise Error(f"the shape {shape} makes no sense: one extent may be -1, the others are counts.")
    if -1 not in filled and math.prod(filled) != tensor.numel():
        raise Error(f"{list(tensor.shape)} cannot be reshaped to {filled}: the numbers of elements differ.")
    return filled


@op("Flatten")
def flatten(call: Call, tensor: Tensor) -> Tensor:
    axis = call.integer("axis", 1)
    if axis != tensor.dim():
        axis = axis_of(axis, tensor.dim())
    return tensor.reshape(math.prod(tensor.shape[:axis]), math.prod(tensor.shape[axis:]))


@op("Transpose")
def transpose(call: Call, tensor: Tensor) -> Tensor:
    return tensor.permute(call.integers("perm", ()) or list(reversed(range(tensor.dim()))))


@op("Squeeze")
def squeeze_by_attribute(call: Call, tensor: Tensor) -> Tensor:
    return _squeezed(tensor, call.integers("axes", ()))


@op("Squeeze", since=13, static=(1,))
def squeeze(call: Call, tensor: Tensor, axes: Tensor | None = None) -> Tensor:
    return _squeezed(tensor, [] if axes is None else call.values(1))


def _squeezed(tensor: Tensor, axes: list[int]) -> Tensor:
    dims = [axis_of(axis, tensor.dim()) for axis in axes]
    dims = dims or [dim for dim, extent in enumerate(tensor.shape) if extent == 1]
    wrong = [dim for dim in dims if tensor.shape[dim] != 1]
    if wrong:
        raise Error(f"dimension {wrong[0]} has {tensor.shape[wrong[0]]} elements and cannot be squeezed.")
    return tensor.reshape([extent for dim, extent in enumerate(tensor.shape) if dim not in dims])


@op("Unsqueeze")
def unsqueeze_by_attribute(call: Call, tensor: Tensor) -> Tensor:
    return _unsqueezed(tensor, call.integers("axes"))


@op("Unsqueeze", since=13, static=(1,))
def unsqueeze(call: Call, tensor: Tensor, axes: Tensor) -> Tensor:
    return _unsqueezed(tensor, call.values(1))


def _unsqueezed(tensor: Tensor, axes: list[int]) -> Tensor:
    dims = tensor.dim() + len(axes)
    places = {axis_of(axis, dims) for axis in axes}
    if len(places) != len(axes):
        raise Error(f"the axes {axes} name a dimension twice.")
    extents = iter(tensor.shape)
    return tensor.reshape([1 if dim in places else next(extents) for dim in range(dims)])


@op("Expand", static=(1,), grows=True)
def expand(call: Call, tensor: Tensor, shape: Tensor) -> Tensor:
    return tensor.expand(broadcast(tensor.shape, call.values(1)))


@op("Tile")
def tile_one_axis(call: Call, tensor: Tensor, tiles: Tensor, axis: Tensor) -> Tensor:
    repeats = [1] * tensor.dim()
    repeats[axis_of(call.value(2), tensor.dim())] = call.value(1)
    return tensor.repeat(repeats)


@op("Tile", since=6, static=(1,), grows=True)
def tile(call: Call, tensor: Tensor, repeats: Tensor) -> Tensor:
    counts = call.values(1)
    if len(counts) != tensor.dim():
        raise Error(f"there are {len(counts)} repeats for {tensor.dim()} dimensions.")
    return tensor.repeat(counts)


@op("Concat")
def concatenate(call: Call, *tensors: Tensor) -> Tensor:
    if len({each.dtype for each in tensors}) > 1:
        raise Error("All inputs to a concat operation must have the same type: they do not.")
    return torch.cat(tensors, axis_of(call.integer("axis", 1), tensors[0].dim()))


@op("Split")
def split_by_attribute(call: Call, tensor: Tensor) -> list[Tensor]:
    return _split(call, tensor, call.integers("split", ()))


@op("Split", since=13, static=(1,))
def split(call: Call, tensor: Tensor, sizes: Tensor | None = None) -> list[Tensor]:
    return _split(call, tensor, [] if sizes is None else call.values(1))


def _split(call: Call, tensor: Tensor, sizes: list[int]) -> list[Tensor]:
    axis = axis_of(call.integer("axis", 0), tensor.dim())
    if not sizes:
        parts = call.integer("num_outputs", call.outputs)
        if parts != call.outputs:
            raise Error(f"num_outputs is {parts}, but the node has {call.outputs} outputs.")
        each = -(-tensor.shape[axis] // parts)
        rest = tensor.shape[axis] - each * (parts - 1)
        if call.version < 18 and rest != each:
            raise Error(f"{tensor.shape[axis]} elements cannot be split into {parts} equal parts.")
        sizes = [each] * (parts - 1) + [rest]
    if sum(sizes) != tensor.shape[axis]:
        raise Error(
            f"the sizes {sizes} add up to {sum(sizes)}, but axis {axis} has {tensor.shape[axis]} elements."
        )
    return list(torch.split(tensor, sizes, axis))


@op("DepthToSpace")
@op("DepthToSpace", domain=GRAPHCORE)
def depth_to_space(call: Call, tensor: Tensor) -> Tensor:
    block = call.integer("blocksize")
    batch, channels, height, width = tensor.shape
    kept = channels // block**2
    if call.text("mode", "DCR") == "DCR":
        parts = tensor.reshape(batch, block, block, kept, height, width).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = tensor.reshape(batch, kept, block, block, height, width).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(batch, kept, height * block, width * block)


@op("SpaceToDepth")
def space_to_depth(call: Call, tensor: Tensor) -> Tensor:
    block = call.integer("blocksize")
    batch, channels, height, width = tensor.shape
    parts = tensor.reshape(batch, channels, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if call.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return parts.permute(order).reshape(batch, channels * block**2, height // block, width // block)


@op("ReverseSequence")
def reverse_sequence(call: Call, tensor: Tensor, lengths: Tensor) -> Tensor:
    batch, time = call.integer("batch_axis", 1), call.integer("time_axis", 0)
    steps = torch.arange(tensor.shape[time], device=tensor.device).unsqueeze(0)
    ends = lengths.long().unsqueeze(1)
    places = torch.where(steps < ends, ends - 1 - steps, steps)
    moved = tensor.movedim((batch, time), (0, 1))
    index = places.reshape(*places.shape, *[1] * (tensor.dim() - 2)).expand(moved.shape)
    return moved.gather(1, index).movedim((0, 1), (batch, time))
