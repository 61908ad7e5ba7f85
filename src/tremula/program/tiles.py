"""Where a program puts its own data and vertices, tile by tile; most programs leave that to the planners."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TileInterval:
    """Elements `begin` to `end` (not included) of a flattened tensor, on one tile."""

    tile: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A field of a vertex connected to elements `begin` to `end` (not included) of a flattened tensor."""

    field: str
    tensor: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Vertex:
    """One vertex of a compute set; the compute set is the op `op`."""

    codelet: str
    op: int
    tile: int
    edges: tuple[Edge, ...] = ()
    #: cycles that the program itself states for one run
    cycles: int | None = None
