"""Vertices of library functions that are put into compute sets of the user's: all of a batch in a few NumPy calls.

Edges become one list of element places for each field, so a codelet computes the elements of all vertices at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import (
    Base,
    Batch,
    Codelet,
    CycleEstimate,
    Direction,
    Edges,
    EstimateSource,
    Field,
    Kind,
    Run,
    Shapes,
)
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs
from tremula.frontends.poplar.types import Type

Array = NDArray[Any]

#: cycles of a worker before and after its loop, assumed for vertices whose rule has no figure of its own
SETUP_CYCLES = 30.0


def vector(name: str, direction: Direction, type: Type) -> Field:
    """A field that is a vector of elements."""
    return Field(name, Kind.VECTOR, direction, type)


class FlatCodelet(Codelet):
    """A codelet of which all vertices of a batch are computed at once, on flat arrays of elements."""

    base = Base.MULTI_VERTEX
    accepts_strides = True

    def __init__(self, name: str, fields: Sequence[Field], cycles_per_element: float) -> None:
        self.name = name
        self.fields: Mapping[str, Field] = {each.name: each for each in fields}
        self._cycles = cycles_per_element

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        """The setup, and the elements of the largest field by the codelet's rate."""
        largest = np.max([np.zeros(shapes.count), *shapes.elements.values()], axis=0)
        cycles = SETUP_CYCLES + np.ceil(largest * self._cycles)
        return CycleEstimate(cycles, EstimateSource.LIBRARY, np.asarray(largest, dtype=np.float64))

    @abstractmethod
    def bind(self, batch: Batch) -> Run:
        """What computes all vertices."""


class ElementCodelet(FlatCodelet):
    """Each element of `out` is a function of the elements of the inputs at the same place, and of the type of `out`."""

    def __init__(
        self,
        name: str,
        out: Type,
        inputs: Sequence[Type],
        function: Callable[..., Any],
        cycles_per_element: float,
    ) -> None:
        fields = [vector("out", Direction.OUTPUT, out)]
        fields += [vector(f"in{number}", Direction.INPUT, each) for number, each in enumerate(inputs)]
        super().__init__(name, fields, cycles_per_element)
        self._function = function

    def bind(self, batch: Batch) -> Run:
        write, dtype = Places(batch, "out"), batch.edges["out"].dtype
        reads = [Places(batch, name) for name in self.fields if name != "out"]
        function = self._function

        def run() -> None:
            with np.errstate(all="ignore"):
                write.put(function(dtype, *(each.get() for each in reads)))

        return run


class Places:
    """The elements of one field of a batch, vertex after vertex."""

    def __init__(self, batch: Batch, name: str) -> None:
        edges: Edges = batch.edges[name]
        size = edges.dtype.itemsize
        self.counts = edges.counts
        shift = int(edges.offsets[0]) % size if len(edges.offsets) else 0
        rest = len(batch.buffer) - shift
        self._elements = batch.buffer[shift : shift + rest // size * size].view(edges.dtype)
        owner = np.repeat(np.arange(len(edges.counts)), edges.counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(edges.counts) - edges.counts, edges.counts)
        self._places = (edges.offsets[owner] - shift) // size + within * edges.strides[owner]

    def get(self) -> Array:
        """The elements now."""
        return self._elements[self._places]

    def put(self, values: Any) -> None:
        """Write all elements."""
        self._elements[self._places] = values


def register(graph: Graph, codelet: Codelet) -> str:
    """Make a codelet known to a graph, unless one of its name is; returns the name."""
    graph.contents.codelets.setdefault(codelet.name, codelet)
    return codelet.name


def add_on_tiles(
    graph: Graph, compute_set: ComputeSet, codelet: Codelet, out: View, inputs: Sequence[View] = ()
) -> None:
    """Put one vertex on each tile that holds elements of `out`, with those of the inputs at the same places."""
    name = register(graph, codelet)
    flat, sources = out.flatten(), [each.flatten() for each in inputs]
    for tile, places in by_tile(out):
        vertex = graph.add_vertex(compute_set, name)
        vertex.batch.tiles[vertex.number] = tile
        for field, view in zip(codelet.fields, [flat, *sources], strict=True):
            part = concat([view.slice_dimension(begin, end) for begin, end in places])
            _connect(vertex, field, part)


def _connect(vertex: Any, field: str, view: View) -> None:
    vertex.batch.connections_of(field).add(vertex.number, 0, view)


def by_tile(view: View) -> list[tuple[int, list[tuple[int, int]]]]:
    """The stretches of a flattened view on each tile, by the tile's number in the whole graph."""
    begin, end, tile = outputs.stretches(view)
    found: dict[int, list[tuple[int, int]]] = {}
    for first, last, where in zip(begin.tolist(), end.tolist(), tile.tolist(), strict=True):
        found.setdefault(where, []).append((first, last))
    found.pop(mapping.UNMAPPED, None)
    return sorted(found.items())


def add_column(
    graph: Graph,
    compute_set: ComputeSet,
    name: str,
    tiles: Ints,
    fields: Mapping[str, Sequence[View]],
    states: Mapping[str, Sequence[Any]],
) -> None:
    """Add vertices of one type, one for each tile of the list, with their edges and states."""
    for number, tile in enumerate(tiles.tolist()):
        vertex = graph.add_vertex(compute_set, name)
        vertex.batch.tiles[vertex.number] = int(tile)
        for field, views in fields.items():
            _connect(vertex, field, views[number])
        for state, values in states.items():
            column = vertex.batch.states_of(state)
            column.vertex.append(vertex.number)
            column.values.append(values[number])
