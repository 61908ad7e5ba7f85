"""Variables of a graph as columns: types, shapes, tiles and initial values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.checked_json import BadValue
from tremula.frontends.poplar.errors import GraphMemoryAllocationError
from tremula.frontends.poplar.execute.stored.columns import Reader, Writer, texts
from tremula.frontends.poplar.execute.stored.views import TYPE_NUMBERS
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.types import ALL_TYPES

#: bytes of one replica's memory on the host that an executable may ask for
_LARGEST_MEMORY = 1 << 40


def write_variables(graph: Graph, writer: Writer) -> dict[str, Any]:
    """Put the variables into columns, and give what is text."""
    memory = graph.memory
    variables = memory.variables
    writer.put("variable_type", [TYPE_NUMBERS[each.type.name] for each in variables])
    writer.put_lists("variable_shape", [each.shape for each in variables])
    writer.put("variable_constant", [each.constant for each in variables])
    found = [mapping.resolve(each) for each in variables]
    writer.put_lists("mapping_begin", [each.begin for each in found])
    writer.put_lists("mapping_end", [each.end for each in found])
    writer.put_lists("mapping_tile", [each.tile for each in found])
    initial = [(each, piece) for each in variables for piece in each.initial]
    kinds = sorted({values.dtype.str for _, (_, values) in initial})
    for number, kind in enumerate(kinds):
        mine = [(each, *piece) for each, piece in initial if piece[1].dtype.str == kind]
        addresses = [
            each.address + np.arange(each.elements, dtype=np.int64) * each.element_bytes
            if where is None
            else where
            for each, where, _ in mine
        ]
        writer.put(f"initial{number}_address", np.concatenate(addresses))
        writer.put_values(f"initial{number}_value", np.concatenate([values for _, _, values in mine]))
    writer.put("replication_indices", graph.contents.replication_indices)
    return {
        "names": [each.name for each in variables],
        "sources": [each.source for each in variables],
        "initial": kinds,
    }


def read_variables(graph: Graph, reader: Reader, document: dict[str, Any]) -> None:
    """Make the variables again in an empty graph."""
    types = reader.numbers("variable_type", 0, len(ALL_TYPES))
    count = len(types)
    names = texts(document["names"], "names of variables", count)
    sources = texts(document["sources"], "lines of variables", count)
    shapes = reader.lists("variable_shape", 0, 1 << 40)
    constant = reader.numbers("variable_constant", 0, 2, count=count)
    if len(shapes) != count:
        raise BadValue("the columns of variables have different lengths")
    memory = graph.memory
    for number in range(count):
        shape = tuple(shapes[number].tolist())
        kind = ALL_TYPES[int(types[number])]
        memory.add(kind, shape, names[number], constant=bool(constant[number]), source=sources[number])
        if memory.size > _LARGEST_MEMORY:
            raise GraphMemoryAllocationError(
                "the variables of the executable need more than a TiB on this host"
            )
    _read_mapping(graph, reader)
    _read_initial(graph, reader, texts(document["initial"], "types of initial values"))
    indices = reader.numbers("replication_indices", 0, count)
    if any(
        memory.variables[each].elements != 1 or memory.variables[each].type.size != 4
        for each in indices.tolist()
    ):
        raise BadValue("a replication index is not one integer")
    graph.contents.replication_indices.extend(indices.tolist())


def _read_mapping(graph: Graph, reader: Reader) -> None:
    begins, ends = reader.lists("mapping_begin", 0), reader.lists("mapping_end", 0)
    tiles = reader.lists("mapping_tile", 0, graph.tile_count)
    variables = graph.memory.variables
    if not len(begins) == len(ends) == len(tiles) == len(variables):
        raise BadValue("the columns of tile mappings have different lengths")
    for variable, begin, end, tile in zip(variables, begins, ends, tiles, strict=True):
        if not len(begin) == len(end) == len(tile):
            raise BadValue("the columns of a tile mapping have different lengths")
        if len(begin):
            if (end < begin).any() or int(end.max()) > variable.elements:
                raise BadValue("a tile mapping reaches beyond its variable")
            columns = np.stack([begin, end - begin, np.ones_like(begin), tile], axis=1)
            variable.mapped_columns.append((0, columns))


def _read_initial(graph: Graph, reader: Reader, kinds: list[str]) -> None:
    memory = graph.memory
    for number, kind in enumerate(kinds):
        values = reader.values(f"initial{number}_value")
        if values.dtype.str != kind:
            raise BadValue("initial values are of another type than they say")
        addresses = reader.numbers(f"initial{number}_address", 0, memory.size, count=len(values))
        if (addresses % values.itemsize).any() or (
            len(addresses) and int(addresses.max()) + values.itemsize > memory.size
        ):
            raise BadValue("initial values lie outside the memory")
        for place in _stretches(memory.numbers_of(addresses)):
            variable = memory.at(int(addresses[place.start]))
            variable.initial.append((addresses[place], values[place]))


def _stretches(numbers: Ints) -> list[slice]:
    """Where equal numbers follow each other."""
    if not len(numbers):
        return []
    edges = np.flatnonzero(np.diff(numbers)) + 1
    begins = [0, *edges.tolist()]
    return [slice(begin, end) for begin, end in zip(begins, [*begins[1:], len(numbers)], strict=True)]
