"""Gather and scatter: along one axis, and in the general form with start indices and windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.program import work

Array = NDArray[Any]

_REMAP, _PADDING = "remapOutOfBoundIndices", "paddingIndexUsed"


def _flags(function: str, given: Mapping[str, str]) -> dict[str, bool]:
    options.check(function, given, (_REMAP, _PADDING))
    return {
        "remap": options.truth(function, given, _REMAP, False),
        "padding": options.truth(function, given, _PADDING, False),
    }


@computing("popops.gather_axis")
def gather_axis_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Elements of one axis. Indices outside read zeros, or index 0 where they are remapped."""
    axis, remap, padding = attributes["axis"], attributes["remap"], attributes["padding"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        table, indices = inputs[0], inputs[1].astype(np.int64)
        length = table.shape[axis]
        inside = (indices >= 0) & (indices < length)
        if inside.all():
            outputs[0][...] = np.take(table, indices, axis=axis)
            return
        found = np.take(table, np.where(inside, indices, 0), axis=axis)
        kept = inside | (remap & ((indices != length) | (not padding)))
        shape = (1,) * axis + kept.shape + (1,) * (table.ndim - axis - 1)
        outputs[0][...] = np.where(kept.reshape(shape), found, table.dtype.type(0))

    return compute


def gather_axis(
    graph: Graph,
    view: View,
    indices: View,
    axis: int,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> View:
    """For each index the part of the tensor at this place of an axis."""
    function = "popops::gather"
    if not 0 <= axis < view.rank:
        raise PoplibsError(
            f"{function}: a tensor of shape {list(view.shape)} has no axis {axis} ({user_line()})"
        )
    _check_integers(indices, function)
    shape = (*view.shape[:axis], *indices.shape, *view.shape[axis + 1 :])
    out = outputs.linear(graph, view.type, shape, name)
    attributes = {"axis": axis, **_flags(function, given)}
    length = max(1, view.shape[axis])
    works = [work.Gather(length, max(1, view.elements // length), indices.elements, work_type(view.type))]
    calls.add_call(program, "popops.gather_axis", [view, indices], [out], attributes, works, name or function)
    return out


def _starts(indices: Array, vector_dim: int, mapped: Sequence[int], rank: int) -> Array:
    """One row of start indices, for each dimension of the operand, for each window; those not named start at 0."""
    given = indices.astype(np.int64)
    given = given[..., np.newaxis] if vector_dim == given.ndim else np.moveaxis(given, vector_dim, -1)
    rows = given.reshape(-1, given.shape[-1])
    starts = np.zeros((len(rows), rank), dtype=np.int64)
    starts[:, list(mapped)] = rows
    return starts


def _windows(starts: Array, sizes: Sequence[int]) -> tuple[Array, ...]:
    """Indices of all elements of all windows: for each dimension an array (windows, *sizes)."""
    rank = len(sizes)
    index = []
    for place, size in enumerate(sizes):
        steps = np.arange(size).reshape((1,) * (place + 1) + (size,) + (1,) * (rank - place - 1))
        index.append(starts[:, place].reshape((-1,) + (1,) * rank) + steps)
    return tuple(index)


@computing("popops.gather")
def gather_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """The general form: windows that would reach past the end are moved inside."""
    sizes, collapsed = attributes["sizes"], tuple(attributes["collapsed"])
    offsets, vector_dim, mapped = attributes["offset_dims"], attributes["vector_dim"], attributes["mapped"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        table, indices = inputs[0], inputs[1]
        last = np.array(table.shape) - np.array(sizes)
        if (last < 0).any():
            raise ValueError(f"windows of sizes {sizes} of a tensor of shape {table.shape}")
        starts = np.clip(_starts(indices, vector_dim, mapped, table.ndim), 0, last)
        windows = table[_windows(starts, sizes)]
        windows = np.squeeze(windows, axis=tuple(each + 1 for each in collapsed))
        batch = [length for place, length in enumerate(indices.shape) if place != vector_dim]
        shaped = windows.reshape((*batch, *windows.shape[1:]))
        outputs[0][...] = np.moveaxis(shaped, range(len(batch), shaped.ndim), sorted(offsets))

    return compute


def gather(
    graph: Graph,
    view: View,
    indices: View,
    vector_dim: int,
    offset_dims: Sequence[int],
    sizes: Sequence[int],
    collapsed: Sequence[int],
    mapped: Sequence[int],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> View:
    """Windows of a tensor at start indices."""
    function = "popops::gather"
    _flags(function, given)
    _check_integers(indices, function)
    window = [size for place, size in enumerate(sizes) if place not in collapsed]
    if (
        len(sizes) != view.rank
        or len(window) != len(offset_dims)
        or any(sizes[each] != 1 for each in collapsed)
    ):
        raise PoplibsError(
            f"{function}: windows of {list(sizes)} with dimensions {list(collapsed)} collapsed do not fit offset "
            f"dimensions {list(offset_dims)} and a tensor of shape {list(view.shape)} ({user_line()})"
        )
    batch = iter([length for place, length in enumerate(indices.shape) if place != vector_dim])
    rank = len(offset_dims) + indices.rank - (vector_dim < indices.rank)
    inner = iter(window)
    shape = [next(inner) if place in offset_dims else next(batch) for place in range(rank)]
    out = outputs.linear(graph, view.type, shape, name)
    attributes = {
        "sizes": list(sizes),
        "collapsed": list(collapsed),
        "offset_dims": list(offset_dims),
        "vector_dim": vector_dim,
        "mapped": list(mapped),
    }
    width = max(1, prod(sizes))
    works = [work.Gather(max(1, view.elements // width), width, out.elements // width, work_type(view.type))]
    calls.add_call(program, "popops.gather", [view, indices], [out], attributes, works, name or function)
    return out


@computing("popops.scatter")
def scatter_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the operand, which is the output too, indices, updates. Windows that reach past the end are left out."""
    window_dims, inserted = attributes["window_dims"], attributes["inserted"]
    vector_dim, mapped = attributes["vector_dim"], attributes["mapped"]
    remap, padding = attributes["remap"], attributes["padding"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        table, indices, updates = outputs[0], inputs[1], inputs[2]
        rank = updates.ndim
        scattered = [place for place in range(rank) if place not in window_dims]
        ordered = updates.transpose((*scattered, *sorted(window_dims)))
        windows = ordered.reshape((-1, *ordered.shape[len(scattered) :]))
        windows = np.expand_dims(windows, tuple(each + 1 for each in sorted(inserted)))
        sizes = windows.shape[1:]
        starts = _starts(indices, vector_dim, mapped, table.ndim)
        last = np.array(table.shape) - np.array(sizes)
        inside = (starts >= 0) & (starts <= last)
        if remap:
            kept = (starts == np.array(table.shape)) if padding else np.zeros_like(inside)
            starts = np.where(inside | kept, starts, 0)
            inside = inside | ~kept
        valid = inside.all(axis=1)
        table[_windows(starts[valid], sizes)] = windows[valid]

    return compute


def scatter(
    graph: Graph,
    view: View,
    indices: View,
    updates: View,
    vector_dim: int,
    window_dims: Sequence[int],
    inserted: Sequence[int],
    mapped: Sequence[int],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> None:
    """Write windows of updates at start indices."""
    function = "popops::scatter"
    check_writeable(view, "the tensor that updates are scattered to")
    _check_integers(indices, function)
    check_windows(view, indices, updates, vector_dim, window_dims, inserted, mapped)
    attributes = {
        "window_dims": list(window_dims),
        "inserted": list(inserted),
        "vector_dim": vector_dim,
        "mapped": list(mapped),
        **_flags(function, given),
    }
    width = max(1, prod(updates.shape[each] for each in window_dims))
    works = [
        work.Scatter(
            max(1, view.elements // width), width, updates.elements // width, work_type(view.type), "set"
        )
    ]
    calls.add_call(
        program, "popops.scatter", [view, indices, updates], [view], attributes, works, name or function
    )


def check_windows(
    view: View,
    indices: View,
    updates: View,
    vector_dim: int,
    window_dims: Sequence[int],
    inserted: Sequence[int],
    mapped: Sequence[int],
) -> None:
    """Raise unless the shapes of a scatter fit each other."""
    count = 1 if vector_dim == indices.rank else indices.shape[vector_dim]
    batch = tuple(length for place, length in enumerate(indices.shape) if place != vector_dim)
    scattered = tuple(length for place, length in enumerate(updates.shape) if place not in window_dims)
    if (
        updates.type is not view.type
        or len(window_dims) + len(inserted) != view.rank
        or batch != scattered
        or len(mapped) != count
    ):
        raise PoplibsError(
            f"popops::scatter: updates of shape {list(updates.shape)} and type {updates.type} with window dimensions "
            f"{list(window_dims)} do not fit indices of shape {list(indices.shape)} and a tensor of shape "
            f"{list(view.shape)} and type {view.type} ({user_line()})"
        )


def _check_integers(indices: View, function: str) -> None:
    if not indices.type.is_integral:
        raise PoplibsError(f"{function}: indices are integers, not of type {indices.type} ({user_line()})")
