"""What a C++ program recorded of its graph, put into the graph as columns.

Numbers are checked as columns, too: nothing of the graph is touched outside its memory, tiles and vertices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Kind
from tremula.frontends.poplar.cpp.values import Decoder, element_type
from tremula.frontends.poplar.cpp.wire import DTYPES, WireError
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import ComputeSet, States, VertexBatch
from tremula.frontends.poplar.lines import set_line


def apply(graph: Graph, block: Mapping[str, Any], decoder: Decoder) -> None:
    """Put a block into its graph."""
    _variables(graph, *block["variables"])
    _initial(graph, block["initial"], decoder)
    _tiles(graph, *(column(each) for each in block["tiles"]))
    _compute_sets(graph, block["compute sets"])
    for row in block["vertices"]:
        _vertices(graph, row, decoder)
    for row in block["beside vertices"]:
        _beside(graph, *row)


def column(raw: Any) -> Ints:
    """A column of 64-bit integers."""
    if not isinstance(raw, np.ndarray) or raw.dtype != np.int64:
        raise WireError("a column of integers was expected")
    return raw


def within(values: Ints, end: int, what: str) -> Ints:
    """Raise unless all values are at least 0 and less than `end`."""
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < end:
        raise WireError(f"{what}: a number is outside the range from 0 to {end - 1}")
    return values


def same_length(what: str, *columns: NDArray[Any]) -> None:
    """Raise unless all columns have the same length."""
    if len({len(each) for each in columns}) > 1:
        raise WireError(f"{what}: the columns have different lengths")


def check_runs(graph: Graph, start: Ints, count: Ints, step: Ints, what: str) -> None:
    """Raise unless all addresses of runs are in the memory of the graph."""
    same_length(what, start, count, step)
    size = graph.memory.size
    used = count > 0
    if (count < 0).any() or (count > size).any() or (np.abs(step) > size).any():
        raise WireError(f"{what}: a run is longer than the memory of the graph")
    last = np.asarray(start + np.maximum(count - 1, 0) * step, dtype=np.int64)
    within(start[used], size, what)
    within(last[used], size, what)


def _variables(
    graph: Graph, types: Any, ranks: Any, lengths: Any, constant: Any, names: Any, sources: Any
) -> None:
    columns = [column(each) for each in (types, ranks, lengths, constant)]
    types, ranks, lengths, constant = columns
    if int(ranks.sum()) != len(lengths) or not len(types) == len(ranks) == len(names) == len(sources):
        raise WireError("variables: the columns have different lengths")
    ends = np.cumsum(ranks).tolist()
    begin = 0
    for type_, end, fixed, name, source in zip(
        types.tolist(), ends, constant.tolist(), names, sources, strict=True
    ):
        set_line(source)
        graph.add_variable(element_type(type_), lengths[begin:end].tolist(), name, constant=bool(fixed))
        begin = end


def _initial(graph: Graph, rows: list[Any], decoder: Decoder) -> None:
    for view, values in zip(rows[::2], rows[1::2], strict=True):
        if not isinstance(values, np.ndarray):
            raise WireError("initial values: an array was expected")
        graph.set_initial_value(decoder.value(view), values)


def _tiles(graph: Graph, start: Ints, count: Ints, step: Ints, tile: Ints) -> None:
    same_length("tiles", start, tile)
    check_runs(graph, start, count, step, "tiles")
    within(tile, _tile_count(graph), "tiles")
    mapping.assign_runs(graph.memory, start, count, step, tile)


def _tile_count(graph: Graph) -> int:
    contents = graph.contents
    return contents.target.tiles // contents.replicas


def _compute_sets(graph: Graph, rows: list[Any]) -> None:
    for name, source in zip(rows[::2], rows[1::2], strict=True):
        set_line(source)
        graph.add_compute_set(name)


# -- vertices -----------------------------------------------------------------------------------------------------


def _compute_set(graph: Graph, number: int) -> ComputeSet:
    sets = graph.contents.compute_sets
    if not 0 <= number < len(sets):
        raise WireError(f"there is no compute set {number}")
    return sets[number]


def _vertices(graph: Graph, row: list[Any], decoder: Decoder) -> None:
    number, type_, source, base, tiles, moved, targets, fields, states, sizes, estimated, cycles, flops = row
    set_line(source)
    batch = graph.batch(_compute_set(graph, number), type_)
    if batch.count != base:
        raise WireError(
            f"vertices of type {type_}: {batch.count} are there, {base} were expected; a library function and the "
            "program have added vertices of one type to one compute set"
        )
    whole = _tile_count(graph)
    new, moved, targets = column(tiles), column(moved), column(targets)
    within(new + 1, whole + 1, "tiles of vertices")
    batch.tiles.frombytes(new.tobytes())
    within(moved, batch.count, "vertices")
    within(targets, whole, "tiles of vertices")
    same_length("tiles of vertices", moved, targets)
    for vertex, tile in zip(moved.tolist(), targets.tolist(), strict=True):
        batch.tiles[vertex] = tile
    for each in fields:
        _edges(graph, batch, each, decoder)
    for each in states:
        _states(batch, each)
    for name, vertex, size in sizes:
        _size(batch, name, vertex, size)
    same_length("estimates", column(estimated), cycles, flops)
    within(estimated, batch.count, "estimates")
    batch.estimates.update(
        zip(estimated.tolist(), zip(cycles.tolist(), flops.tolist(), strict=True), strict=True)
    )


def _edges(graph: Graph, batch: VertexBatch, row: list[Any], decoder: Decoder) -> None:
    name, vertex, number, offset, count, step, views = row
    vertex, number, offset, count, step = (column(each) for each in (vertex, number, offset, count, step))
    same_length("edges", vertex, number, offset)
    _field(batch, name)
    within(vertex, batch.count, "edges")
    within(number, 1 << 32, "edges")
    connections = batch.connections_of(name)
    if views:
        several = offset < 0
        within(count[several], len(views), "edges of several runs")
        check_runs(graph, offset[~several], count[~several], step[~several], "edges")
        count = np.where(several, count + len(connections.views), count)
        connections.views.extend(decoder.value(view) for view in views)
    else:
        check_runs(graph, offset, count, step, "edges")
    connections.extend(vertex, number, offset, count, step)


def _field(batch: VertexBatch, name: str) -> Kind:
    found = batch.codelet.fields.get(name)
    if found is None:
        raise WireError(f"vertex type {batch.codelet.name} has no field {name!r}")
    return found.kind


def _states(batch: VertexBatch, row: list[Any]) -> None:
    name, letter, size, scalar, vertex, count, raw = row
    vertex, count = column(vertex), column(count)
    same_length("states", vertex, count)
    within(vertex, batch.count, "states")
    within(count, len(raw) + 1, "states")
    if not 0 < size <= 1 << 24 or int(count.sum()) * size != len(raw):
        raise WireError("states: the bytes do not fit the number of values")
    kind = _field(batch, name)
    if kind not in (Kind.STATE, Kind.STATE_VECTOR):
        raise WireError(f"field {name!r} of vertex type {batch.codelet.name} holds no values")
    values = _typed(letter, size, raw)
    states = batch.states_of(name)
    states.vertex.frombytes(vertex.tobytes())
    if scalar and kind is Kind.STATE:
        states.values.extend(values.tolist() if values.ndim == 1 else list(values))
    else:
        states.values.extend(np.split(values, np.cumsum(count)[:-1]))


def _typed(letter: str, size: int, raw: memoryview) -> NDArray[Any]:
    """The values; those of a type of the program's own as rows of bytes."""
    dtype = DTYPES.get(letter)
    if dtype is None:
        return np.frombuffer(raw, dtype=np.uint8).reshape(-1, size)
    if dtype.itemsize != size:
        raise WireError(f"states: values of type {letter!r} do not have {size} bytes")
    return np.frombuffer(raw, dtype=dtype)


def _size(batch: VertexBatch, name: str, vertex: int, size: int) -> None:
    if not 0 <= vertex < batch.count or not 0 <= size < 1 << 40:
        raise WireError("sizes of fields: a number is out of range")
    if _field(batch, name) is Kind.STATE_VECTOR:
        states = batch.states_of(name)
        states.vertex.append(vertex)
        states.values.append([0] * size)
    else:
        sizes = batch.sizes.setdefault(name, States())
        sizes.vertex.append(vertex)
        sizes.values.append(size)


def _beside(graph: Graph, variable: int, compute_set: int, type_: str, vertex: int) -> None:
    """A constant lies on the tile of the vertex that it was made for."""
    batch = _compute_set(graph, compute_set).batches.get(type_)
    if batch is None or not 0 <= vertex < batch.count or not 0 <= variable < len(graph.memory.variables):
        raise WireError("a constant beside a vertex that is not there")
    graph.contents.beside_vertices.append((variable, batch, vertex))


__all__ = ["apply", "column"]
