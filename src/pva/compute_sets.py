"""Compute sets and their vertices.

The chip model knows how many vertices of a type a compute set has and on how many tiles, the cycles of the slowest
and of the mean tile. Values by tile are spread accordingly: over the first tiles of the IPU, evenly; the first tile
is the slowest. Of programs that place their vertices themselves the cycles of each tile are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pva.sequences import Chosen, Items, Numbers
from pva.source import Source, evenly
from pva.tables import Table
from tremula.errors import Error


class VertexType:
    """A type of vertex: its name and the state that one vertex of it takes."""

    __slots__ = ("_id", "_source")

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self._id = number

    @property
    def name(self) -> str:
        """The name of the type, in PopLibs if it exists there."""
        return str(self._source.profile.vertex_types[self._id].name)

    @property
    def size(self) -> int:
        """Bytes of state of one vertex: the mean over the vertices of the type, rounded down."""
        return self._source.state_per_vertex[self._id]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VertexType) and (self._source, self._id) == (other._source, other._id)

    def __hash__(self) -> int:
        return hash((id(self._source), "vertex type", self._id))

    def __repr__(self) -> str:
        return f"VertexType({self.name!r}, size={self.size})"


class Vertex:
    """The vertices of one type in a compute set."""

    __slots__ = ("_ipu", "_row", "_source")

    def __init__(self, source: Source, row: int, ipu: int) -> None:
        self._source = source
        self._row = row
        self._ipu = ipu

    @property
    def type(self) -> VertexType:
        """The type."""
        return VertexType(self._source, int(self._source.numbers("vertices", "vertex_type")[self._row]))

    @property
    def count(self) -> int:
        """The number of vertices on all tiles of a replica."""
        return int(self._source.numbers("vertices", "count")[self._row])

    @property
    def countByTile(self) -> Numbers:
        """The number of vertices on each tile, spread evenly over the tiles that have vertices."""
        tiles = int(self._source.numbers("vertices", "tiles")[self._row])
        spread = evenly(self.count, tiles, self._source.target.tiles_per_ipu)
        return self._source.on_system(spread, self._ipu)

    def __repr__(self) -> str:
        return f"Vertex({self.type.name!r}, count={self.count})"


class ComputeSet:
    """Vertices that run together."""

    __slots__ = ("_id", "_source")

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self._id = number

    @property
    def name(self) -> str:
        """Modules, op and superstep, joined by slashes."""
        return self._source.texts("compute_sets", "name")[self._id]

    @property
    def vertices(self) -> Items[Vertex]:
        """The vertices, one item for each type."""
        source = self._source
        key = (int(source.numbers("compute_sets", "plan_id")[self._id]), self._superstep)
        rows = source.compute_set_vertices.get(key, np.zeros(0, dtype=np.int64))
        ipu = self._ipu
        return Items(rows, lambda row: Vertex(source, row, ipu), source.print_length)

    @property
    def numVertices(self) -> int:
        """Vertices of all types."""
        return int(self._source.numbers("compute_sets", "vertices")[self._id])

    @property
    def estimatedCycles(self) -> float:
        """Cycles of the slowest tile in one run."""
        return float(self._source.numbers("compute_sets", "cycles")[self._id])

    @property
    def estimatedCyclesByTile(self) -> Numbers:
        """Cycles of each tile in one run."""
        source = self._source
        rows = source.set_cycles[self._id]
        if len(rows):
            replica = np.zeros((source.target.ipus_per_replica, source.target.tiles_per_ipu))
            tiles = source.numbers("tile_cycles", "tile")[rows]
            if int(tiles.max()) >= replica.size:
                raise Error(f"{source.profile.path} refers to tiles that do not exist.", type="pva_error")
            replica.reshape(-1)[tiles] = source.numbers("tile_cycles", "cycles")[rows]
            return source.of_replicas(replica)
        plan = int(source.numbers("compute_sets", "plan_id")[self._id])
        steps = source.profile.supersteps.get(plan, ())
        tiles = source.target.tiles_per_ipu
        if self._superstep < len(steps):
            step = steps[self._superstep]
            repeats = self.estimatedCycles / step.slowest_tile_cycles if step.slowest_tile_cycles else 1.0
            spread = by_tile(self.estimatedCycles, repeats * step.mean_tile_cycles, step.active_tiles, tiles)
        else:
            spread = by_tile(self.estimatedCycles, self.estimatedCycles, tiles, tiles)
        return source.on_system(spread, self._ipu)

    @property
    def _superstep(self) -> int:
        return int(self._source.numbers("compute_sets", "superstep")[self._id])

    @property
    def _ipu(self) -> int:
        return self._source.ipu_of_op(int(self._source.numbers("compute_sets", "op_id")[self._id]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComputeSet) and (self._source, self._id) == (other._source, other._id)

    def __hash__(self) -> int:
        return hash((id(self._source), "compute set", self._id))

    def __repr__(self) -> str:
        return f"ComputeSet({self.name!r}, vertices={self.numVertices})"


def by_tile(slowest: float, mean: float, active: int, tiles: int) -> NDArray[np.float64]:
    """Cycles of each tile, such that the first `active` have the given maximum and mean."""
    found = np.zeros(tiles)
    active = min(max(active, 1), tiles)
    found[:active] = slowest
    if active > 1:
        found[1:active] = min(max((mean * active - slowest) / (active - 1), 0.0), slowest)
    return found


def compute_sets(source: Source, chosen: Chosen | None = None) -> Table[ComputeSet]:
    """Compute sets as a list; all of them unless some are chosen."""

    def numbers(column: str) -> NDArray[np.int64]:
        return source.numbers("compute_sets", column)

    return Table(
        range(source.rows("compute_sets")) if chosen is None else chosen,
        lambda number: ComputeSet(source, number),
        source.print_length,
        {
            "name": lambda: source.texts("compute_sets", "name"),
            "numVertices": lambda: numbers("vertices"),
            "estimatedCycles": lambda: numbers("cycles"),
            "op": lambda: numbers("op_id"),
            "superstep": lambda: numbers("superstep"),
        },
    )
