"""Parts of tensors at places that are known only when the graph runs. Places wrap around, as on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.onnx.ops.unsigned import signed


def _places(call: Call, tensor: Tensor, offset: Tensor) -> dict[int, Tensor]:
    """By dimension, the places of the part."""
    axes, sizes = call.integers("axes"), call.integers("sizes")
    offsets = signed(offset).long().reshape(-1)
    if not len(axes) == len(sizes) == offsets.shape[0]:
        raise Error(f"there are {len(axes)} axes, {len(sizes)} sizes and {offsets.shape[0]} offsets.")
    found = {}
    for number, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        if not 0 <= axis < tensor.dim() or not 0 < size <= tensor.shape[axis]:
            raise Error(
                f"a part of {size} elements cannot be taken along axis {axis} of {list(tensor.shape)}."
            )
        steps = torch.arange(size, device=tensor.device)
        found[axis] = (offsets[number] + steps) % tensor.shape[axis]
    return found


def _part_shape(tensor: Tensor, places: dict[int, Tensor]) -> list[int]:
    return [places[dim].shape[0] if dim in places else extent for dim, extent in enumerate(tensor.shape)]


def _indices(tensor: Tensor, places: dict[int, Tensor]) -> tuple[Tensor, ...]:
    found = []
    for dim, extent in enumerate(tensor.shape):
        along = places[dim] if dim in places else torch.arange(extent, device=tensor.device)
        found.append(along.reshape([-1 if each == dim else 1 for each in range(tensor.dim())]))
    return tuple(found)


@op("DynamicSlice", domain=GRAPHCORE)
def dynamic_slice(call: Call, tensor: Tensor, offset: Tensor, like: Tensor | None = None) -> Tensor:
    for axis, places in _places(call, tensor, offset).items():
        tensor = tensor.index_select(axis, places)
    return tensor if like is None else tensor.reshape(like.shape)


@op("DynamicUpdate", domain=GRAPHCORE)
def dynamic_update(call: Call, tensor: Tensor, offset: Tensor, part: Tensor) -> Tensor:
    places = _places(call, tensor, offset)
    part = part.reshape(_part_shape(tensor, places))
    if len(places) == 1:
        ((axis, along),) = places.items()
        return tensor.index_copy(axis, along, part.to(tensor.dtype))
    return tensor.index_put(_indices(tensor, places), part.to(tensor.dtype))


@op("DynamicAdd", domain=GRAPHCORE)
def dynamic_add(call: Call, tensor: Tensor, offset: Tensor, part: Tensor) -> Tensor:
    places = _places(call, tensor, offset)
    part = part.reshape(_part_shape(tensor, places))
    if len(places) == 1:
        ((axis, along),) = places.items()
        return tensor.index_add(axis, along, part.to(tensor.dtype))
    return tensor.index_put(_indices(tensor, places), part.to(tensor.dtype), accumulate=True)


@op("DynamicZero", domain=GRAPHCORE)
def dynamic_zero(call: Call, tensor: Tensor, offset: Tensor) -> Tensor:
    places = _places(call, tensor, offset)
    zeros = tensor.new_zeros(_part_shape(tensor, places))
    if len(places) == 1:
        ((axis, along),) = places.items()
        return tensor.index_copy(axis, along, zeros)
    return tensor.index_put(_indices(tensor, places), zeros)


@op("SequenceSlice", domain=GRAPHCORE)
def sequence_slice(
    call: Call, source: Tensor, target: Tensor, counts: Tensor, source_offsets: Tensor, offsets: Tensor
) -> Tensor:
    """Rows of `source` copied over rows of `target`, sequence by sequence."""
    result = torch.zeros_like(target) if call.flag("zeroUnused") else target
    rows = torch.arange(target.shape[0], device=target.device)
    lengths, begin, to = (signed(each).long().reshape(-1) for each in (counts, source_offsets, offsets))
    for number in range(lengths.shape[0]):
        inside = (rows >= to[number]) & (rows < to[number] + lengths[number])
        picked = source.index_select(0, (rows - to[number] + begin[number]).clamp(0, source.shape[0] - 1))
        result = torch.where(inside.reshape(-1, *[1] * (target.dim() - 1)), picked, result)
    return result


@op("PackedDataBlock", domain=GRAPHCORE)
def packed_data_block(call: Call, *tensors: Tensor) -> Tensor:
    """Sequences of packed data, padded and given to a graph in batches; what it gives is packed again."""
    *data, result_offsets, result_lengths = tensors
    if len(data) % 3:
        raise Error(
            "the inputs are data, offsets and lengths, three by three, then offsets and lengths of the result."
        )
    longest = call.integers("maxSequenceLengths")
    batch = call.integer("callbackBatchSize", 1)
    callback = call.graph("callback")
    unpacked = [
        _unpacked(data[3 * place], data[3 * place + 1], data[3 * place + 2], longest[place])
        for place in range(len(data) // 3)
    ]
    count = unpacked[0].shape[0]
    if count % batch:
        raise Error(f"{count} sequences cannot be given to the callback {batch} at a time.")
    parts = [
        call.run_graph(callback, [each[start : start + batch] for each in unpacked])[0]
        for start in range(0, count, batch)
    ]
    return _packed(torch.cat(parts), result_offsets, result_lengths, call.integer("resultSize"))


def _unpacked(data: Tensor, offsets: Tensor, lengths: Tensor, longest: int) -> Tensor:
    steps = torch.arange(longest, device=data.device)
    starts = signed(offsets).long().reshape(-1, 1)
    inside = steps < signed(lengths).long().reshape(-1, 1)
    places = torch.where(inside, starts + steps, torch.zeros_like(starts))
    rows = data.index_select(0, places.reshape(-1)).reshape(*places.shape, *data.shape[1:])
    return rows * inside.reshape(*inside.shape, *[1] * (data.dim() - 1)).to(data.dtype)


def _packed(parts: Tensor, offsets: Tensor, lengths: Tensor, size: int) -> Tensor:
    steps = torch.arange(parts.shape[1], device=parts.device)
    inside = steps < signed(lengths).long().reshape(-1, 1)
    places = signed(offsets).long().reshape(-1, 1) + steps
    # what is beyond a sequence goes to a row that is cut off
    places = torch.where(inside, places, torch.full_like(places, size)).reshape(-1)
    rows = parts.reshape(-1, *parts.shape[2:])
    return parts.new_zeros((size + 1, *parts.shape[2:])).index_copy(0, places, rows)[:size]
