"""Dynamic and multiple slices and updates as calls, and tensors that are laid out for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.rearrange import moved
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs, poputil
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.options import EXACT_ALREADY, PLANNED_BY_THE_MODEL
from tremula.frontends.poplar.libs.popops import slicing as slicing  # registers the kernels
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type
from tremula.program import work

_REMAP, _PADDING, _PROPORTION = "remapOutOfBoundIndices", "paddingIndexUsed", "availableMemoryProportion"
HONOURED = (_REMAP, _PADDING, _PROPORTION)
_WITHOUT_EFFECT = {
    "planConstraints": PLANNED_BY_THE_MODEL,
    "planMinimisationTarget": PLANNED_BY_THE_MODEL,
    "usedForSlice": PLANNED_BY_THE_MODEL,
    "usedForUpdate": PLANNED_BY_THE_MODEL,
    "operationForUpdate": PLANNED_BY_THE_MODEL,
    "indicesDistribution": PLANNED_BY_THE_MODEL,
    "partialType": "partial sums are kept in single precision",
    "indicesAreSorted": EXACT_ALREADY,
    "validateIndices": "indices outside read zeros and write nothing; they end no program",
}


@dataclass(frozen=True)
class SlicePlan:
    """What a plan of slices was made for; an empty one stands for no plan."""

    data_type: str = ""
    groups: int = 1
    entries: int = 0
    width: int = 0
    lookups: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = field(default=())

    def __lt__(self, other: SlicePlan) -> bool:
        return repr(self) < repr(other)


def check_options(function: str, given: Mapping[str, str]) -> None:
    """Raise for options that slices do not have."""
    options.check(function, given, HONOURED, _WITHOUT_EFFECT)


def _flags(function: str, given: Mapping[str, str]) -> dict[str, bool]:
    check_options(function, given)
    return {
        "remap": options.truth(function, given, _REMAP, False),
        "padding": options.truth(function, given, _PADDING, False),
    }


def slice_shape(
    shape: Sequence[int], dims: Sequence[int], sizes: Sequence[int], function: str
) -> tuple[int, ...]:
    """The shape of a slice."""
    if len(dims) != len(sizes) or len(set(dims)) != len(dims):
        raise PoplibsError(
            f"{function}: {len(dims)} dimensions {list(dims)} and {len(sizes)} sizes ({user_line()})"
        )
    found = list(shape)
    for dim, size in zip(dims, sizes, strict=True):
        if not 0 <= dim < len(shape) or not 0 < size <= shape[dim]:
            raise PoplibsError(
                f"{function}: a slice of size {size} of dimension {dim} of a tensor of shape {list(shape)} "
                f"({user_line()})"
            )
        found[dim] = size
    return tuple(found)


def _first_slice(view: View, dims: Sequence[int], sizes: Sequence[int]) -> View:
    for dim, size in zip(dims, sizes, strict=True):
        view = view.slice_dimension(0, size, dim)
    return view


def slice_output(graph: Graph, view: View, dims: Sequence[int], sizes: Sequence[int], name: str) -> View:
    """A tensor for a slice: on the tiles of the first one."""
    slice_shape(view.shape, dims, sizes, "popops::dynamicSlice")
    first = _first_slice(view, dims, sizes)
    if first.has_aliases():
        return outputs.linear(graph, view.type, first.shape, name)
    return outputs.like(graph, first, view.type, name)


def dynamic_slice(
    graph: Graph,
    view: View,
    offset: View,
    dims: Sequence[int],
    sizes: Sequence[int],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    out: View | None = None,
) -> View:
    """A slice that begins at `offset`."""
    function = "popops::dynamicSlice"
    shape = slice_shape(view.shape, dims, sizes, function)
    _check_offsets(offset, len(dims), function)
    if out is None:
        out = slice_output(graph, view, dims, sizes, name)
    _same(out, shape, view.type, function)
    attributes = {"dims": list(dims), "sizes": list(sizes), **_flags(function, given)}
    entries, width = _table(view, dims, sizes)
    works = [work.Gather(entries, width, 1, work_type(view.type), _share(function, given))]
    calls.add_call(
        program, "popops.dynamic_slice", [view, offset], [out], attributes, works, name or function
    )
    return out


def dynamic_update(
    graph: Graph,
    view: View,
    part: View,
    offset: View,
    dims: Sequence[int],
    sizes: Sequence[int],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> None:
    """Write a slice that begins at `offset`."""
    function = "popops::dynamicUpdate"
    _same(part, slice_shape(view.shape, dims, sizes, function), view.type, function)
    _check_offsets(offset, len(dims), function)
    check_writeable(view, "the tensor to be updated")
    attributes = {"dims": list(dims), "sizes": list(sizes), **_flags(function, given)}
    entries, width = _table(view, dims, sizes)
    works = [work.Scatter(entries, width, 1, work_type(view.type), "set", _share(function, given))]
    calls.add_call(
        program,
        "popops.dynamic_update",
        [view, part, offset],
        [view],
        attributes,
        works,
        name or function,
    )


def multi_slice(
    graph: Graph,
    view: View,
    offsets: View,
    dims: Sequence[int],
    sizes: Sequence[int],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    *,
    grouped: bool = False,
) -> View:
    """Several slices, one after the other in a new first dimension; with groups after theirs."""
    function = "popops::groupedMultiSlice" if grouped else "popops::multiSlice"
    groups, inner, count = _groups(view, offsets, len(dims), grouped, function)
    shape = (*groups, count, *slice_shape(inner, dims, sizes, function))
    out = outputs.linear(graph, view.type, shape, name)
    attributes = {
        "dims": list(dims),
        "sizes": list(sizes),
        "groups": grouped,
        **_flags(function, given),
    }
    works = _several(work.Gather, view, dims, sizes, groups, count, function, given)
    calls.add_call(program, "popops.multi_slice", [view, offsets], [out], attributes, works, name or function)
    return out


def multi_update(
    graph: Graph,
    view: View,
    parts: View,
    offsets: View,
    scale: View | None,
    dims: Sequence[int],
    sizes: Sequence[int],
    operation: str,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    *,
    grouped: bool = False,
) -> None:
    """Write several slices, or combine them with what is there: `operation` is set, add, max or mul."""
    function = "popops::groupedMultiUpdate" if grouped else "popops::multiUpdate"
    groups, inner, count = _groups(view, offsets, len(dims), grouped, function)
    _same(parts, (*groups, count, *slice_shape(inner, dims, sizes, function)), view.type, function)
    check_writeable(view, "the tensor to be updated")
    if scale is not None and scale.elements != 1:
        raise PoplibsError(f"{function}: the scale is one element, not {scale.elements} ({user_line()})")
    attributes = {
        "dims": list(dims),
        "sizes": list(sizes),
        "groups": grouped,
        "operation": operation,
        **_flags(function, given),
    }
    works = _several(work.Scatter, view, dims, sizes, groups, count, function, given, operation)
    inputs = [view, parts, offsets, *([] if scale is None else [scale])]
    calls.add_call(program, "popops.multi_update", inputs, [view], attributes, works, name or function)


def _groups(
    view: View, offsets: View, count: int, grouped: bool, function: str
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The groups, the shape of one of them, and how many slices are taken of each."""
    groups = tuple(view.shape[:1]) if grouped else ()
    rest = tuple(offsets.shape[1:]) if grouped else tuple(offsets.shape)
    if (grouped and tuple(offsets.shape[:1]) != groups) or prod(rest) % max(count, 1) or not rest:
        raise PoplibsError(
            f"{function}: offsets of shape {list(offsets.shape)} do not name {count} dimensions of a tensor of shape "
            f"{list(view.shape)} ({user_line()})"
        )
    _check_integers(offsets, function)
    return groups, tuple(view.shape[len(groups) :]), prod(rest) // max(count, 1)


def _several(
    kind: type[work.Gather] | type[work.Scatter],
    view: View,
    dims: Sequence[int],
    sizes: Sequence[int],
    groups: tuple[int, ...],
    count: int,
    function: str,
    given: Mapping[str, str],
    operation: str = "",
) -> list[work.Work]:
    whole = prod(groups)
    entries, width = _table(view, [each + len(groups) for each in dims], sizes)
    total = whole * count
    share = _share(function, given)
    if kind is work.Gather:
        return [work.Gather(entries * whole, width // max(whole, 1), total, work_type(view.type), share)]
    return [
        work.Scatter(entries * whole, width // max(whole, 1), total, work_type(view.type), operation, share)
    ]


def _table(view: View, dims: Sequence[int], sizes: Sequence[int]) -> tuple[int, int]:
    """Entries and width of the table that slices are taken from."""
    entries = prod(max(1, view.shape[dim] // size) for dim, size in zip(dims, sizes, strict=True))
    return entries, max(1, view.elements // max(entries, 1))


def _share(function: str, given: Mapping[str, str]) -> float:
    # more than all of the memory is as much as all of it
    return min(1.0, options.share(function, given, _PROPORTION, 0.6))


def _check_offsets(offset: View, count: int, function: str) -> None:
    _check_integers(offset, function)
    if offset.elements < count or (offset.rank == 2 and offset.shape[0] != count) or offset.rank > 2:
        raise PoplibsError(
            f"{function}: offsets of shape {list(offset.shape)} for {count} dimensions ({user_line()})"
        )


def _check_integers(offsets: View, function: str) -> None:
    if not offsets.type.is_integral:
        raise PoplibsError(
            f"{function}: offsets are unsigned integers, not of type {offsets.type} ({user_line()})"
        )


def _same(view: View, shape: Sequence[int], type: Type, function: str) -> None:
    if tuple(view.shape) != tuple(shape) or view.type is not type:
        raise PoplibsError(
            f"{function}: a slice is of shape {list(shape)} and type {type}, the tensor for it of shape "
            f"{list(view.shape)} and type {view.type} ({user_line()})"
        )


def sliceable(
    graph: Graph, type: Type, shape: Sequence[int], dims: Sequence[int], grain: int, name: str
) -> View:
    """A tensor in which all elements along the sliced dimensions lie on one tile, and each slice on all tiles."""
    others = [place for place in range(len(shape)) if place not in dims]
    along, across = prod(shape[each] for each in dims), prod(shape[each] for each in others)
    made = graph.add_variable(type, [shape[each] for each in (*others, *dims)], name)
    begin, end = poputil.pieces(across, max(1, grain), 0, graph.tile_count)
    tiles = np.arange(len(begin), dtype=np.int64)
    poputil.put_pieces(graph, made.flatten(), begin * along, end * along, tiles)
    return moved(made, list(range(len(shape))), [*others, *dims])
