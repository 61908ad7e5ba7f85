"""Graphs: variables, their tiles, vertices, and what connects a program with the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Codelet, CycleEstimate, Kind, Shapes
from tremula.frontends.poplar.codelets.names import NameTable
from tremula.frontends.poplar.errors import (
    GraphObjectCreationError,
    InvalidTileMapping,
    StreamConnectionError,
    TensorCreationError,
    UnknownVertexType,
)
from tremula.frontends.poplar.graph import connect, layout, mapping
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.endpoints import DataStream, Function, HostFunction, RemoteBuffer
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.target import TargetFacts
from tremula.frontends.poplar.types import Type

PerfEstimator = Callable[[Shapes], CycleEstimate]


@dataclass(eq=False)
class Contents:
    """What a graph and all virtual graphs of it share."""

    target: TargetFacts
    replicas: int
    memory: Memory
    codelets: NameTable[Codelet] = field(default_factory=NameTable)
    estimators: NameTable[PerfEstimator] = field(default_factory=NameTable)
    compute_sets: list[ComputeSet] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    streams: dict[str, DataStream] = field(default_factory=dict)
    remote_buffers: dict[str, RemoteBuffer] = field(default_factory=dict)
    host_functions: dict[str, HostFunction] = field(default_factory=dict)
    host_writes: dict[str, View] = field(default_factory=dict)
    host_reads: dict[str, View] = field(default_factory=dict)
    #: variables that hold the number of the replica
    replication_indices: list[int] = field(default_factory=list)
    #: constants made for a connection: variable, batch and vertex whose tile they lie on
    beside_vertices: list[tuple[int, VertexBatch, int]] = field(default_factory=list)


class Graph:
    """A graph, or a part of its tiles: then `tiles` are the numbers of those tiles in the whole."""

    view_class: type[View] = View

    def __init__(self, target: TargetFacts, replicas: int = 1) -> None:
        if replicas < 1 or target.ipus % replicas:
            raise GraphObjectCreationError(f"{target.ipus} IPUs cannot be shared by {replicas} replicas")
        self.contents = Contents(target, replicas, Memory(target.accurate_half))
        self.memory = self.contents.memory
        self.tiles: Ints | None = None

    # -- tiles --------------------------------------------------------------------------------------------------

    @property
    def tile_count(self) -> int:
        """Tiles that this graph has, in each replica."""
        whole = self.contents.target.tiles // self.contents.replicas
        return whole if self.tiles is None else len(self.tiles)

    def part(self, tiles: Ints) -> Self:
        """The same graph on some of its tiles."""
        if len(tiles) and not 0 <= int(tiles.min()) <= int(tiles.max()) < self.tile_count:
            raise InvalidTileMapping(f"a graph of {self.tile_count} tiles has no tile {int(tiles.max())}")
        part = object.__new__(type(self))
        part.contents, part.memory = self.contents, self.memory
        part.tiles = tiles if self.tiles is None else self.tiles[tiles]
        return part

    def tile(self, number: int) -> int:
        """The number of one of this graph's tiles in the whole graph."""
        if not 0 <= number < self.tile_count:
            raise InvalidTileMapping(
                f"tile {number} does not exist: the graph has {self.tile_count} tiles ({user_line()})"
            )
        return number if self.tiles is None else int(self.tiles[number])

    # -- variables ----------------------------------------------------------------------------------------------

    def storage(self, type: Type) -> np.dtype[np.generic]:
        """How elements of a type are kept on the host."""
        return self.memory.storage(type)

    def element_size(self, type: Type) -> int:
        """Bytes of an element of a type on the host."""
        return self.memory.element_size(type)

    def add_variable(
        self, type: Type, shape: Sequence[int], name: str = "", *, constant: bool = False
    ) -> View:
        """Make a variable."""
        extent = layout.as_shape(shape)
        if any(length < 0 for length in extent):
            raise TensorCreationError(f"a variable cannot have shape {list(extent)}")
        variable = self.memory.add(type, extent, name, constant=constant, source=user_line())
        strides = layout.contiguous_strides(extent, variable.element_bytes)
        return self.view_class(self, type, extent, variable.address, strides)

    def add_constant(self, type: Type, shape: Sequence[int], values: Any, name: str = "") -> View:
        """Make a constant. A single value is that of all elements."""
        view = self.add_variable(type, shape, name, constant=True)
        given = np.asarray(values)
        if given.size not in (1, view.elements):
            raise TensorCreationError(
                f"a constant of shape {list(view.shape)} needs {view.elements} values, not {given.size}"
            )
        filled = (
            np.broadcast_to(given.reshape(-1), (view.elements,)) if given.size == 1 else given.reshape(-1)
        )
        self.set_initial_value(view, filled)
        return view

    def set_initial_value(self, view: View, values: Any) -> None:
        """Set the values that elements have when the program is loaded."""
        given = np.asarray(values).reshape(-1)
        if given.size == 1 != view.elements:
            given = np.broadcast_to(given, (view.elements,))
        if given.size != view.elements:
            raise TensorCreationError(
                f"a tensor of {view.elements} elements cannot start with {given.size} values"
            )
        if not view.elements:
            return
        typed: NDArray[np.generic] = given.astype(self.storage(view.type))
        addresses = view.addresses().reshape(-1)
        numbers = self.memory.numbers_of(addresses)
        for number in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == number)
            self.memory.variables[number].initial.append((addresses[mine], typed[mine]))

    def set_tile_mapping(self, view: View, tile: int) -> None:
        """Put all elements of a view on a tile."""
        mapping.assign(self.memory, view, self.tile(tile))

    def tile_mapping(self, view: View) -> tuple[Ints, Ints, Ints]:
        """Begin, end and tile of each stretch of a view, in its order. Tiles are this graph's; -1 is none of them."""
        begin, end, tile = mapping.intervals_of(self.memory, view)
        if self.tiles is not None:
            places = {int(whole): place for place, whole in enumerate(self.tiles)}
            tile = np.array(
                [places.get(number, mapping.UNMAPPED) for number in tile.tolist()], dtype=np.int64
            )
        return begin, end, tile

    # -- vertices -----------------------------------------------------------------------------------------------

    def add_compute_set(self, name: str = "") -> ComputeSet:
        """Make a compute set."""
        made = ComputeSet(len(self.contents.compute_sets), name, user_line())
        self.contents.compute_sets.append(made)
        return made

    def batch(self, compute_set: ComputeSet, type: str) -> VertexBatch:
        """The vertices of one type in a compute set, for columns to be appended to."""
        found = compute_set.batches.get(type)
        if found is None:
            codelet = self.contents.codelets.get(type)
            if codelet is None:
                known = ", ".join(sorted(self.contents.codelets)) or "none"
                raise UnknownVertexType(
                    f"no codelet is named {type!r} ({user_line()}); added so far: {known}"
                )
            found = compute_set.batches[type] = VertexBatch(codelet)
            found.sources.append(user_line())
        return found

    def add_vertex(
        self, compute_set: ComputeSet, type: str, connections: Mapping[str, Any] | None = None
    ) -> connect.VertexRef:
        """Make a vertex and connect its fields."""
        batch = compute_set.batches.get(type) or self.batch(compute_set, type)
        number = len(batch.tiles)
        batch.tiles.append(mapping.UNMAPPED)
        vertex = connect.VertexRef(self, batch, number)
        if connections:
            for name, what in connections.items():
                connect.connect_field(vertex, name, what)
        return vertex

    def set_vertex_tile(self, vertex: connect.VertexRef, tile: int) -> None:
        """Put a vertex on a tile."""
        vertex.batch.tiles[vertex.number] = self.tile(tile)

    def has_codelet(self, name: str) -> bool:
        """Whether a vertex type is known."""
        return name in self.contents.codelets

    # -- host ---------------------------------------------------------------------------------------------------

    def add_stream(self, stream: DataStream) -> DataStream:
        """Add a stream between host and device."""
        if stream.handle in self.contents.streams:
            raise StreamConnectionError(f"there is a stream {stream.handle!r} already ({user_line()})")
        self.contents.streams[stream.handle] = stream
        return stream

    def add_remote_buffer(self, buffer: RemoteBuffer) -> RemoteBuffer:
        """Add memory outside the chip."""
        if buffer.handle in self.contents.remote_buffers:
            raise StreamConnectionError(f"there is a remote buffer {buffer.handle!r} already ({user_line()})")
        self.contents.remote_buffers[buffer.handle] = buffer
        return buffer

    def add_function(self, program: Program, name: str = "") -> Function:
        """Make a program callable."""
        made = Function(len(self.contents.functions), program, name)
        self.contents.functions.append(made)
        return made

    def create_host_write(self, handle: str, view: View) -> None:
        """Let the host write a tensor by a handle."""
        self.contents.host_writes[handle] = view

    def create_host_read(self, handle: str, view: View) -> None:
        """Let the host read a tensor by a handle."""
        self.contents.host_reads[handle] = view


__all__ = ["Contents", "Graph", "Kind", "PerfEstimator"]
