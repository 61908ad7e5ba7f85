"""Tensors that library functions make for their results, on the tiles where the real functions would put them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import poputil
from tremula.frontends.poplar.types import Type


def linear(graph: Graph, type: Type, shape: Sequence[int], name: str = "") -> View:
    """A new tensor that is spread evenly over the tiles."""
    made = graph.add_variable(type, shape, name)
    poputil.map_tensor_linearly(graph, made)
    return made


def like(graph: Graph, view: View, type: Type, name: str = "") -> View:
    """A new tensor of the shape of `view`, each element on the tile of its counterpart, in the same order in memory."""
    order = _memory_order(view)
    if order is not None:
        made = like(graph, view.dim_shuffle(order), type, name)
        return made.dim_shuffle([order.index(place) for place in range(view.rank)])
    made = graph.add_variable(type, view.shape, name)
    begin, end, tile = stretches(view)
    if not len(begin) or (tile == mapping.UNMAPPED).any():
        poputil.map_tensor_linearly(graph, made)
        return made
    put_whole_tiles(graph, made, begin, end, tile)
    return made


def _memory_order(view: View) -> list[int] | None:
    """The dimensions of a strided view by their distances in memory, or None if that is the order that they have."""
    if view.address_list is not None or view.single_run() is not None:
        return None
    order = sorted(range(view.rank), key=lambda place: -abs(view.strides[place]))
    return None if order == list(range(view.rank)) else order


def put_whole_tiles(graph: Graph, made: View, begin: Ints, end: Ints, tile: Ints) -> None:
    """Put stretches of a new contiguous tensor on tiles, which are numbers of the whole graph."""
    size = made.element_bytes
    steps = np.full(len(begin), size, dtype=np.int64)
    mapping.assign_runs(graph.memory, made.offset + begin * size, end - begin, steps, tile)


def stretches(view: View) -> tuple[Ints, Ints, Ints]:
    """Begin, end and tile of the stretches of a flattened view; tiles are those of the whole graph."""
    memory, run = view.graph.memory, view.single_run()
    if run is None or run[2] != view.element_bytes or not run[1]:
        return mapping.intervals_of(memory, view)
    offset, count, size = run
    variable = memory.at(offset)
    first = (offset - variable.address) // size
    if first + count > variable.elements or variable.element_bytes != size:
        return mapping.intervals_of(memory, view)
    found = mapping.resolve(variable)
    begin, end = np.maximum(found.begin - first, 0), np.minimum(found.end - first, count)
    kept = end > begin
    begin, end, tile = begin[kept], end[kept], found.tile[kept]
    if int((end - begin).sum()) != count:
        return mapping.intervals_of(memory, view)
    return begin, end, tile


def of_element_wise(
    graph: Graph, operands: Sequence[View], shape: tuple[int, ...], type: Type, name: str = ""
) -> View:
    """The output of an element-wise function: on the tiles of the operand that is spread widest, else linear."""
    whole = [each for each in operands if tuple(each.shape) == shape and each.elements]
    candidates = [each for each in whole if not has_constant(each) and not each.has_aliases()]
    if not candidates:
        return linear(graph, type, shape, name)
    if len(candidates) > 1:
        spread = [_tile_count(each) for each in candidates]
        return like(graph, candidates[int(np.argmax(spread))], type, name)
    return like(graph, candidates[0], type, name)


def _tile_count(view: View) -> int:
    """On how many tiles a tensor lies."""
    order = _memory_order(view)
    return len(np.unique(stretches(view if order is None else view.dim_shuffle(order))[2]))


def has_constant(view: View) -> bool:
    """Whether an element is one of a constant."""
    starts, counts, _ = view.runs()
    numbers = np.unique(view.graph.memory.numbers_of(starts[counts > 0]))
    return any(view.graph.memory.variables[number].constant for number in numbers.tolist())


def assign_tile(graph: Graph, view: View, tile: int) -> None:
    """Put a view on a tile of the whole graph."""
    mapping.assign(graph.memory, view, tile)
