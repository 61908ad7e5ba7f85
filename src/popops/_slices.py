"""Dynamic slices and updates, several slices at once, and plans and tensors for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from poplar import Graph, Interval, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.popops import slices
from tremula.frontends.poplar.libs.popops.slices import SlicePlan
from tremula.frontends.poplar.types import FLOAT, UNSIGNED_INT, Type


def dynamicSlice(
    graph: Graph,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """The slice of `t` that begins at `offset`, which has an element for each dimension of `dims`."""
    taken = Arguments("popops::dynamicSlice", [dims, sizes, prog], debug, options)
    dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
    return as_tensor(slices.dynamic_slice(graph, t, offset, dims, sizes, program, *taken.end()))


def dynamicSliceWithOutput(
    graph: Graph,
    output: Tensor,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Write the slice of `t` that begins at `offset` to `output`."""
    taken = Arguments("popops::dynamicSliceWithOutput", [dims, sizes, prog], debug, options)
    dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
    slices.dynamic_slice(graph, t, offset, dims, sizes, program, *taken.end(), out=output)


def createDynamicSliceOutput(
    graph: Graph,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor for `dynamicSliceWithOutput`."""
    slices.check_options("popops::createDynamicSliceOutput", options or {})
    return as_tensor(slices.slice_output(graph, t, dims, sizes, str(debug)))


def dynamicUpdate(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Write `s` to the slice of `t` that begins at `offset`."""
    taken = Arguments("popops::dynamicUpdate", [dims, sizes, prog], debug, options)
    dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
    slices.dynamic_update(graph, t, s, offset, dims, sizes, program, *taken.end())


def getSliceMapping(
    graph: Graph, t: Tensor, dims: Sequence[int], sizes: Sequence[int]
) -> list[list[Interval]]:
    """The tile mapping of a slice of `t`."""
    first = t
    for dim, size in zip(dims, sizes, strict=True):
        first = first.slice_dimension(0, size, dim)
    return graph.getTileMapping(first)


def _planned(taken: Arguments) -> tuple[SlicePlan, dict[str, str], str]:
    """Plan, options and name, in the order of the functions that have a plan."""
    plan = taken.maybe(SlicePlan) or SlicePlan()
    given = taken.mapping()
    name, named = taken.end()
    every = {**dict(plan.options), **{str(k): str(v) for k, v in (given or {}).items()}, **named}
    return plan, every, name


def multiSlice(
    graph: Graph, t: Tensor, offsets: Any, *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`multiSlice(graph, t, offsets, dims, sizes, prog, plan, options)`: a slice for each row of the tensor `offsets`;
    `multiSlice(graph, t, [offset, ...], dim, prog)`: one element of a dimension for each number."""
    taken = Arguments("popops::multiSlice", arguments, debug, options)
    if not isinstance(offsets, View):
        dim, program = taken.integer("dim"), taken.program()
        name, given = taken.end()
        where = _constant_offsets(graph, offsets, name)
        return as_tensor(slices.multi_slice(graph, t, where, [dim], [1], program, name, given))
    dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
    _, given, name = _planned(taken)
    return as_tensor(slices.multi_slice(graph, t, offsets, dims, sizes, program, name, given))


def groupedMultiSlice(
    graph: Graph,
    t: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Take several slices of each group. Groups are the first dimension of `t`, of `offsets` and of the result."""
    taken = Arguments("popops::groupedMultiSlice", [dims, sizes, prog, *rest], debug, options)
    dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
    _, given, name = _planned(taken)
    return as_tensor(slices.multi_slice(graph, t, offsets, dims, sizes, program, name, given, grouped=True))


def _constant_offsets(graph: Graph, offsets: Sequence[int], name: str) -> View:
    made = graph.add_constant(UNSIGNED_INT, (len(offsets), 1), np.asarray(offsets, dtype=np.uint32), name)
    graph.set_tile_mapping(as_tensor(made), 0)
    return made


def _update(function: str, operation: str, grouped: bool) -> Callable[..., None]:
    scaled = operation == "add"

    def update(
        graph: Graph,
        t: Tensor,
        s: Tensor,
        offsets: Any,
        *arguments: Any,
        debug: Any = "",
        options: Any = None,
    ) -> None:
        taken = Arguments(f"popops::{function}", arguments, debug, options)
        scale = taken.view("scale") if scaled else None
        if not isinstance(offsets, View):
            dim, program = taken.integer("dim"), taken.program()
            name, given = taken.end()
            where = _constant_offsets(graph, offsets, name)
            slices.multi_update(graph, t, s, where, scale, [dim], [1], operation, program, name, given)
            return
        dims, sizes, program = taken.integers("dims"), taken.integers("sizes"), taken.program()
        _, given, name = _planned(taken)
        slices.multi_update(
            graph, t, s, offsets, scale, dims, sizes, operation, program, name, given, grouped=grouped
        )

    update.__name__ = update.__qualname__ = function
    what = {"set": "Write", "add": "Add, scaled,", "max": "Take the larger of", "mul": "Multiply by"}[
        operation
    ]
    order = "scale, dims, sizes" if scaled else "dims, sizes"
    update.__doc__ = (
        f"{what} slices of `t`: `{function}(graph, t, s, offsets, {order}, prog, plan, options)`."
    )
    return update


multiUpdate = _update("multiUpdate", "set", False)
multiUpdateAdd = _update("multiUpdateAdd", "add", False)
multiUpdateMax = _update("multiUpdateMax", "max", False)
multiUpdateMul = _update("multiUpdateMul", "mul", False)
groupedMultiUpdate = _update("groupedMultiUpdate", "set", True)
groupedMultiUpdateAdd = _update("groupedMultiUpdateAdd", "add", True)
groupedMultiUpdateMax = _update("groupedMultiUpdateMax", "max", True)
groupedMultiUpdateMul = _update("groupedMultiUpdateMul", "mul", True)


def createSliceableTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """`createSliceableTensor(graph, type, shape, dims, sizes[, minGrainSize])`, or with `plan, options`."""
    taken = Arguments("popops::createSliceableTensor", arguments, debug, options)
    grain = 0 if taken.next_is(SlicePlan) or not taken.next_is_number() else taken.integer("minGrainSize")
    _, given, name = _planned(taken)
    slices.check_options("popops::createSliceableTensor", given)
    slices.slice_shape(shape, dims, sizes, "popops::createSliceableTensor")
    return as_tensor(slices.sliceable(graph, type, shape, dims, grain, name))


def createGroupedSliceableTensor(
    graph: Graph,
    type: Type,
    groupSize: int,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor for `groupedMultiSlice`, with groups as the first dimension."""
    taken = Arguments("popops::createGroupedSliceableTensor", rest, debug, options)
    _, given, name = _planned(taken)
    slices.check_options("popops::createGroupedSliceableTensor", given)
    slices.slice_shape(shape, dims, sizes, "popops::createGroupedSliceableTensor")
    return as_tensor(slices.sliceable(graph, type, (groupSize, *shape), [each + 1 for each in dims], 0, name))


def createSliceTensor(
    graph: Graph, first: Any, *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`createSliceTensor(graph, t, dims, sizes, numIndices)`, or `createSliceTensor(graph, type, shape, dims, sizes,
    numIndices, plan, options)`: a tensor for several slices."""
    taken = Arguments("popops::createSliceTensor", arguments, debug, options)
    if isinstance(first, View):
        kind, shape = first.type, tuple(first.shape)
    else:
        kind, shape = first, taken.integers("shape")
    dims, sizes, count = taken.integers("dims"), taken.integers("sizes"), taken.integer("numIndices")
    _, given, name = _planned(taken)
    slices.check_options("popops::createSliceTensor", given)
    whole = slices.slice_shape(shape, dims, sizes, "popops::createSliceTensor")
    return as_tensor(outputs.linear(graph, kind, (count, *whole), name))


def createGroupedSliceTensor(
    graph: Graph,
    type: Type,
    groupSize: int,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    numIndices: int,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor for grouped slices, with groups as the first dimension."""
    taken = Arguments("popops::createGroupedSliceTensor", rest, debug, options)
    _, given, name = _planned(taken)
    slices.check_options("popops::createGroupedSliceTensor", given)
    whole = slices.slice_shape(shape, dims, sizes, "popops::createGroupedSliceTensor")
    return as_tensor(outputs.linear(graph, type, (groupSize, numIndices, *whole), name))


def createIndicesTensor(
    graph: Graph, dims: Sequence[int], numIndices: int, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """A tensor for the offsets of several slices."""
    taken = Arguments("popops::createIndicesTensor", rest, debug, options)
    _, given, name = _planned(taken)
    slices.check_options("popops::createIndicesTensor", given)
    return as_tensor(outputs.linear(graph, UNSIGNED_INT, (numIndices, len(dims)), name))


def createGroupedIndicesTensor(
    graph: Graph,
    groupSize: int,
    dims: Sequence[int],
    numIndices: int,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor for the offsets of grouped slices, with groups as the first dimension."""
    taken = Arguments("popops::createGroupedIndicesTensor", rest, debug, options)
    _, given, name = _planned(taken)
    slices.check_options("popops::createGroupedIndicesTensor", given)
    return as_tensor(outputs.linear(graph, UNSIGNED_INT, (groupSize, numIndices, len(dims)), name))


def createSliceableTensorFromSlice(
    graph: Graph,
    s: Tensor,
    dims: Sequence[int],
    numSlices: Sequence[int],
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor with `numSlices` slices like `s` in each of `dims`, each on the tiles of `s`."""
    shape = list(s.shape)
    for dim, count in zip(dims, numSlices, strict=True):
        shape[dim] *= count
    made = graph.add_variable(s.type, shape, str(debug))
    for number in np.ndindex(*numSlices):
        part = made
        for dim, place in zip(dims, number, strict=True):
            part = part.slice_dimension(place * s.shape[dim], (place + 1) * s.shape[dim], dim)
        flat = part.flatten()
        for begin, end, tile in zip(*(each.tolist() for each in outputs.stretches(s)), strict=True):
            if tile >= 0:
                outputs.assign_tile(graph, flat.slice_dimension(begin, end), tile)
    return as_tensor(made)


def plan(graph: Graph, dataType: Type, *arguments: Any, debug: Any = "", options: Any = None) -> SlicePlan:
    """`plan(graph, dataType, [groupSize,] numEntries, outputSize, numLookups, options)`."""
    taken = Arguments("popops::embedding::plan", arguments, debug, options)
    first, second = taken.integer("numEntries"), taken.integer("outputSize")
    groups, entries, width = 1, first, second
    if taken.next_is_number():
        groups, entries, width = first, second, taken.integer("outputSize")
    lookups = taken.integers("numLookups")
    given = taken.mapping()
    every = {**{str(key): str(value) for key, value in (given or {}).items()}, **taken.end()[1]}
    slices.check_options("popops::embedding::plan", every)
    kind = dataType.name if isinstance(dataType, Type) else FLOAT.name
    kept = tuple(sorted((key, value) for key, value in every.items() if key in slices.HONOURED))
    return SlicePlan(kind, groups, entries, width, lookups, kept)


class SlicePlanningParameters:
    """Arguments of one plan: `(graph, dataType, [groupSize,] numEntries, outputSize, numLookups, optionFlags)`."""

    def __init__(self, graph: Graph, dataType: Type, *arguments: Any) -> None:
        self.arguments = (graph, dataType, *arguments)


def planMultiple(parameters: Sequence[SlicePlanningParameters]) -> list[SlicePlan]:
    """Create a plan for each."""
    return [plan(*each.arguments) for each in parameters]


__all__ = [
    "SlicePlan",
    "createDynamicSliceOutput",
    "createGroupedIndicesTensor",
    "createGroupedSliceTensor",
    "createGroupedSliceableTensor",
    "createIndicesTensor",
    "createSliceTensor",
    "createSliceableTensor",
    "createSliceableTensorFromSlice",
    "dynamicSlice",
    "dynamicSliceWithOutput",
    "dynamicUpdate",
    "getSliceMapping",
    "groupedMultiSlice",
    "groupedMultiUpdate",
    "groupedMultiUpdateAdd",
    "groupedMultiUpdateMax",
    "groupedMultiUpdateMul",
    "multiSlice",
    "multiUpdate",
    "multiUpdateAdd",
    "multiUpdateMax",
    "multiUpdateMul",
]
