"""Ops that move, cut and join tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..dtypes import dtype as Dtype
from ..tensor import Tensor
from ._create import create, create_op, outputs_of
from .utils import handle_negative_axis

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
Bound = int | Sequence[int | None] | None


def _shape(t: Tensor, shape: Iterable[int]) -> tuple[int, ...]:
    wanted = tuple(int(each) for each in shape)
    if any(each == 0 or each < -1 for each in wanted) and t.nelms:
        raise ValueError(
            f"Invalid shape value in reshape: extents are positive, or -1 for what is left, not {wanted}."
        )
    if wanted.count(-1) > 1:
        raise ValueError(f"Reshape shape can contain at most one '-1' value: {wanted}.")
    rest = math.prod(each for each in wanted if each != -1)
    return tuple(t.nelms // max(rest, 1) if each == -1 else each for each in wanted)


def reshape(t: Tensor, shape: Iterable[int]) -> Tensor:
    """The elements in another shape."""
    return create("Reshape", {"t": t}, f"{t.name}_reshaped", {"shape": _shape(t, shape)})


def reshape_(t: Tensor, shape: Iterable[int]) -> Tensor:
    """Give the tensor another shape, in the memory of `t`."""
    return create("ReshapeInplace", {"t": t}, f"{t.name}_reshaped", {"shape": _shape(t, shape)})


def flatten(t: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(t, (-1,))


def flatten_(t: Tensor) -> Tensor:
    """Flatten the tensor, in the memory of `t`."""
    return reshape_(t, (-1,))


def squeeze(t: Tensor, axes: Iterable[int] | None = None) -> Tensor:
    """Without dimensions of one element, all of them by default."""
    if axes is None:
        return reshape(t, [each for each in t.shape if each != 1])
    chosen = [handle_negative_axis(t, axis) for axis in axes]
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"An axis is named twice: {chosen}.")
    for axis in chosen:
        if not 0 <= axis < t.rank:
            raise ValueError(f"There is no axis {axis} in a tensor of rank {t.rank}.")
        if t.shape[axis] != 1:
            raise ValueError(f"Axis {axis} has {t.shape[axis]} elements and cannot be squeezed.")
    return reshape(t, [each for axis, each in enumerate(t.shape) if axis not in chosen])


def _permutation(t: Tensor, permutation: Iterable[int] | None) -> tuple[int, ...]:
    if permutation is None:
        return tuple(reversed(range(t.rank)))
    axes = tuple(permutation)
    outside = [axis for axis in axes if axis >= t.rank]
    if outside:
        raise ValueError(f"Values in permutation must be less than the rank, {t.rank}; there are {outside}.")
    return tuple(handle_negative_axis(t, axis) for axis in axes)


def transpose(t: Tensor, permutation: Iterable[int] | None = None) -> Tensor:
    """The axes in another order, reversed by default."""
    return create("Transpose", {"t": t}, f"{t.name}_T", {"permutation": _permutation(t, permutation)})


def transpose_(t: Tensor, permutation: Iterable[int] | None = None) -> Tensor:
    """Permute the dimensions, in the memory of `t`."""
    return create("TransposeInplace", {"t": t}, f"{t.name}_T", {"permutation": _permutation(t, permutation)})


def process_args(
    start: Bound = None, stop: Bound = None, step: Bound = None, axis: Any = None
) -> dict[str, list[int]]:
    """Bounds of a slice as lists of one length, with numbers for what is left out."""
    given = {"start": start, "stop": stop, "step": step, "axis": axis}
    lists = {key: [each] if isinstance(each, int) else each for key, each in given.items()}
    lengths = {key: len(each) for key, each in lists.items() if each is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"start, stop, step and axis must have the same length: {lengths}.")
    count = next(iter(lengths.values()))
    steps = [1 if each is None else each for each in lists["step"] or [None] * count]
    starts, stops = lists["start"] or [None] * count, lists["stop"] or [None] * count
    return {
        "starts": [(0 if by > 0 else -1) if e is None else e for e, by in zip(starts, steps, strict=True)],
        "stops": [
            (INT_MAX if by > 0 else INT_MIN) if e is None else e for e, by in zip(stops, steps, strict=True)
        ],
        "steps": steps,
        "axes": list(range(count)) if lists["axis"] is None else list(lists["axis"]),
    }


def slice(t: Tensor, start: Bound = None, stop: Bound = None, step: Bound = None, axis: Any = None) -> Tensor:
    """The elements from `start` to `stop` along axes, the first ones by default."""
    if start is None and stop is None and step is None:
        return t
    return create("Slice", {"t": t}, "slice_out", process_args(start, stop, step, axis))


def slice_(
    t: Tensor, start: Bound = None, stop: Bound = None, step: Bound = None, axis: Any = None
) -> Tensor:
    """Slice the tensor, in the memory of `t`."""
    if start is None and stop is None and step is None:
        return t
    return create("SliceInplace", {"t": t}, "slice_out", process_args(start, stop, step, axis))


def subsample(t: Tensor, strides: int | Iterable[int]) -> Tensor:
    """Every n-th element along each axis."""
    steps = [strides] if isinstance(strides, int) else list(strides)
    if len(steps) > t.rank:
        raise ValueError(f"There are {len(steps)} strides for a tensor of rank {t.rank}.")
    steps += [1] * (t.rank - len(steps))
    return create("Subsample", {"t": t}, "subsample_out", {"strides": steps})


def split(t: Tensor, splits: int | Iterable[int], axis: int = 0) -> list[Tensor]:
    """Parts of equal or given lengths along an axis."""
    axis = handle_negative_axis(t, axis)
    if isinstance(splits, int):
        if t.shape[axis] % splits:
            raise ValueError(
                f"The {t.shape[axis]} elements of axis {axis} cannot be split into {splits} equal parts."
            )
        splits = [t.shape[axis] // splits] * splits
    sizes = list(splits)
    names = [f"{t.name}_split_{number}" for number in range(len(sizes))]
    return list(outputs_of(create_op("Split", {"t": t}, names, {"splits": sizes, "axis": axis})))


def _concat(kind: str, ts: Iterable[Tensor], axis: int) -> Tensor:
    tensors = list(ts)
    types = [t.dtype for t in tensors]
    if len(set(types)) > 1:
        raise TypeError(f"All inputs to a concat operation must have the same type: {types}")
    named = {f"ts_{number}": t for number, t in enumerate(tensors)}
    return create(kind, named, "concat_out", {"axis": handle_negative_axis(tensors[0], axis)})


def concat(ts: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Tensors one behind the other along an axis."""
    return _concat("Concat", ts, axis)


def concat_(ts: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors. Unlike on the device, the result does not share memory with them."""
    return _concat("ConcatInplace", ts, axis)


def init(
    shape: Iterable[int],
    dtype: Dtype,
    name: str | None = None,
    init_type: Literal["zero", "undef"] = "zero",
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """A tensor of zeros, or of anything, which are zeros here as well."""
    if init_type not in ("zero", "undef"):
        raise ValueError(f"Unknown init_type: {init_type}")
    attributes = {
        "shape": tuple(shape),
        "dtype": dtype.name,
        "init_type": init_type,
        "meta_shape": tuple(meta_shape or ()),
    }
    return create("Init", {}, name or "t", attributes, together=False)


def dynamic_slice(
    t: Tensor, index: Tensor, axes: Iterable[int], sizes: Iterable[int], no_overlap: bool
) -> Tensor:
    """A part that begins at places in a tensor."""
    attributes = {"axes": list(axes), "sizes": list(sizes), "no_overlap": no_overlap}
    return create("DynamicSlice", {"t": t, "index": index}, "dynamic_slice_out", attributes)


def dynamic_update(
    t: Tensor, index: Tensor, t_update: Tensor, axes: Iterable[int], sizes: Iterable[int], no_overlap: bool
) -> Tensor:
    """`t` with a part replaced."""
    attributes = {"axes": list(axes), "sizes": list(sizes), "no_overlap": no_overlap}
    tensors = {"t": t, "index": index, "t_update": t_update}
    return create("DynamicUpdate", tensors, "dynamic_update_out", attributes)


def dynamic_update_(
    t: Tensor, index: Tensor, t_update: Tensor, axes: Iterable[int], sizes: Iterable[int], no_overlap: bool
) -> Tensor:
    """Replace a slice at a variable offset, in place."""
    attributes = {"axes": list(axes), "sizes": list(sizes), "no_overlap": no_overlap}
    tensors = {"t": t, "index": index, "t_update": t_update}
    return create("DynamicUpdateInplace", tensors, "dynamicupdateinplace_out", attributes)


def groupedgather(
    t: Tensor,
    indices: Tensor,
    axis: int = 0,
    group_size: int | None = 1,
    available_memory_proportion: float | None = None,
    zero_OOR: bool = False,
) -> Tensor:
    """Rows by their numbers, in groups; with `zero_OOR` those that do not exist are zeros."""
    attributes = {
        "axis": axis,
        "group_size": group_size or 1,
        "zero_out_of_range": zero_OOR,
        "available_memory_proportion": available_memory_proportion,
    }
    return create("Gather", {"t": t, "indices": indices}, "gather_out", attributes)


def gather(
    t: Tensor,
    indices: Tensor,
    axis: int = 0,
    available_memory_proportion: float | None = None,
    zero_OOR: bool = False,
) -> Tensor:
    """Rows by their numbers."""
    return groupedgather(t, indices, axis, 1, available_memory_proportion, zero_OOR)


def tied_gather(
    t: Tensor,
    indices: Tensor,
    axis: int = 0,
    available_memory_proportion: float | None = None,
    zero_OOR: bool = False,
) -> Tensor:
    """Rows of a matrix that is also multiplied with."""
    attributes = {
        "axis": axis,
        "zero_out_of_range": zero_OOR,
        "available_memory_proportion": available_memory_proportion,
    }
    return create("TiedGather", {"t": t, "indices": indices}, "tiedgather_out", attributes)


def scatter(
    t: Tensor,
    indices: Tensor,
    values: Tensor,
    axis: int = 0,
    available_memory_proportion: float | None = None,
) -> Tensor:
    """`t` with values at places along an axis."""
    attributes = {"axis": axis, "available_memory_proportion": available_memory_proportion}
    return create("Scatter", {"t": t, "indices": indices, "values": values}, "scatter_out", attributes)


def grouped_scatter_reduce(
    data: Tensor,
    indices: Tensor,
    reduction: Literal["sum", "min", "max", "none"],
    initial_values: Tensor | None = None,
    axis: int = 0,
    axis_size: int | None = None,
    group_size: int = 1,
    enable_index_broadcast: bool = True,
    available_memory_proportion: float | None = None,
) -> Tensor:
    """Rows reduced into the places that their numbers say, in groups."""
    if axis_size is None:
        if initial_values is None:
            raise ValueError("Either initial_values or axis_size must be given.")
        axis_size = initial_values.shape[axis]
    if reduction not in ("sum", "min", "max", "none"):
        raise ValueError(f"The reduction is 'sum', 'min', 'max' or 'none', not {reduction!r}.")
    attributes = {
        "axis": axis,
        "axis_size": axis_size,
        "group_size": group_size,
        "reduction": reduction,
        "enable_index_broadcast": enable_index_broadcast,
        "available_memory_proportion": available_memory_proportion,
    }
    tensors = {"data": data, "indices": indices}
    if initial_values is not None:
        tensors["initial_values"] = initial_values
    return create("ScatterReduce", tensors, "scatterreduce_out", attributes)


def scatter_reduce(
    data: Tensor,
    indices: Tensor,
    reduction: Literal["sum", "min", "max", "none"],
    initial_values: Tensor | None = None,
    axis: int = 0,
    axis_size: int | None = None,
    enable_index_broadcast: bool = True,
    available_memory_proportion: float | None = None,
) -> Tensor:
    """Rows reduced into the places that their numbers say."""
    return grouped_scatter_reduce(
        data,
        indices,
        reduction,
        initial_values,
        axis,
        axis_size,
        1,
        enable_index_broadcast,
        available_memory_proportion,
    )


def ipu_copy(t: Tensor, destination: int, source: int | None = None) -> Tensor:
    """`t` on another IPU."""
    if source is None:
        source = t._pb_tensor.getVirtualGraphIdUnsafe()
        if source == -1:
            raise ValueError(f"Could not infer the ipu of {t.id}: give `source`.")
    attributes = {"source": source, "destination": destination}
    return create("IpuCopy", {"t": t}, f"{t.name}_c{destination}", attributes, together=False)


def io_tile_copy(t: Tensor) -> Tensor:
    """`t` on the other tiles of its IPU: from compute tiles to IO tiles, or back."""
    from dataclasses import replace

    from ..context import get_current_context

    settings = get_current_context()._get_op_settings("io_tile_copy")
    ipu, io_tiles = t._pb_tensor.place()
    if ipu is not None:
        settings = replace(settings, ipu=ipu)
    if io_tiles is not None:
        settings = replace(settings, io_tiles=not io_tiles)
    return create("IoTileCopy", {"t": t}, f"{t.name}_iotilecopy", together=False, settings=settings)


__all__ = [
    "concat",
    "concat_",
    "dynamic_slice",
    "dynamic_update",
    "dynamic_update_",
    "flatten",
    "flatten_",
    "gather",
    "grouped_scatter_reduce",
    "groupedgather",
    "init",
    "io_tile_copy",
    "ipu_copy",
    "process_args",
    "reshape",
    "reshape_",
    "scatter",
    "scatter_reduce",
    "slice",
    "slice_",
    "split",
    "squeeze",
    "subsample",
    "tied_gather",
    "transpose",
    "transpose_",
]
