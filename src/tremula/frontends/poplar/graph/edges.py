"""The edges of all vertices of a batch, put together from the calls that connected them.

A scalar or a vector field is one edge of each vertex, a list has as many as it has vectors. An edge is one run of
addresses in most programs, and several where a view is made of parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Field, Kind
from tremula.frontends.poplar.errors import GraphConnectionError
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import Connections, VertexBatch, values


@dataclass(frozen=True, eq=False)
class Runs:
    """Evenly spaced addresses: `count` from `offset`, `step` bytes apart, run after run."""

    offset: Ints
    count: Ints
    step: Ints

    def __len__(self) -> int:
        return len(self.offset)

    def addresses(self) -> Ints:
        """The address of each element, in order."""
        owner = np.repeat(np.arange(len(self)), self.count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(self.count) - self.count, self.count)
        return np.asarray(self.offset[owner] + within * self.step[owner], dtype=np.int64)

    def take(self, places: Ints) -> Runs:
        """Some of the runs."""
        return Runs(self.offset[places], self.count[places], self.step[places])


@dataclass(frozen=True, eq=False)
class FieldEdges:
    """The edges of one field, sorted by vertex and number; run `r` is a part of edge `run_edges[r]`."""

    vertex: Ints  #: of each edge
    counts: Ints  #: elements of each edge
    runs: Runs
    run_edges: Ints

    def __len__(self) -> int:
        return len(self.vertex)

    @property
    def single(self) -> bool:
        """Whether each edge is one run."""
        return _one_run_each(self.run_edges, len(self.vertex))


def edges_of(batch: VertexBatch, field: Field) -> FieldEdges:
    """The edges of a field of all vertices of a batch; a vertex that lacks one is an error."""
    connections = batch.connections.get(field.name, Connections())
    vertex, number = values(connections.vertex), values(connections.number)
    runs, owner = _runs(connections)
    kept = _last_of_each(vertex, number)
    position = np.full(len(vertex), -1, dtype=np.int64)
    position[kept] = np.arange(len(kept))
    place = position[owner]
    used = np.flatnonzero(place >= 0)
    order = used if _ascending(place[used]) else used[np.argsort(place[used], kind="stable")]
    runs, place = (
        (runs, place) if len(order) == len(runs) and order is used else (runs.take(order), place[order])
    )
    vertex = vertex[kept]
    edge = np.arange(len(kept))
    if field.kind is not Kind.VECTOR_LIST:
        # numbered parts of a vector are one edge
        new = (
            np.concatenate(([True], vertex[1:] != vertex[:-1]))
            if len(vertex)
            else np.zeros(0, dtype=np.bool_)
        )
        if not new.all():
            edge = np.cumsum(new) - 1
            place, vertex = edge[place], vertex[new]
    _check_all_connected(batch, field, vertex)
    counts = (
        runs.count
        if _one_run_each(place, len(vertex))
        else np.bincount(place, runs.count, minlength=len(vertex)).astype(np.int64)
    )
    return FieldEdges(vertex, counts, runs, place)


def _runs(connections: Connections) -> tuple[Runs, Ints]:
    """All runs with the call that each belongs to."""
    offset, count, step = (
        values(column) for column in (connections.offset, connections.count, connections.step)
    )
    owner = np.arange(len(offset))
    several = np.flatnonzero(offset < 0)
    if not len(several):
        return Runs(offset, count, step), owner
    plain = np.flatnonzero(offset >= 0)
    parts = [(offset[plain], count[plain], step[plain], plain)]
    for call in several.tolist():
        starts, counts, steps = connections.views[int(count[call])].runs()
        parts.append((starts, counts, steps, np.full(len(starts), call, dtype=np.int64)))
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(joined[3], kind="stable")
    return Runs(joined[0][order], joined[1][order], joined[2][order]), joined[3][order]


def _one_run_each(edges: Ints, count: int) -> bool:
    """Whether run `r` is all of edge `r`: an edge without elements may have no run, and another one several."""
    return len(edges) == count and bool((edges == np.arange(count)).all())


def _ascending(column: Ints) -> bool:
    return bool((column[1:] >= column[:-1]).all())


def _last_of_each(vertex: Ints, number: Ints) -> Ints:
    """The calls that count, sorted by vertex and number: of several for one edge the last."""
    if len(vertex) < 2:
        return np.arange(len(vertex))
    later = vertex[1:] > vertex[:-1]
    if (later | ((vertex[1:] == vertex[:-1]) & (number[1:] > number[:-1]))).all():
        return np.arange(len(vertex))
    order = np.lexsort((number, vertex))
    same = (vertex[order][1:] == vertex[order][:-1]) & (number[order][1:] == number[order][:-1])
    return np.asarray(order[np.concatenate((~same, [True]))], dtype=np.int64)


def _check_all_connected(batch: VertexBatch, field: Field, vertex: Ints) -> None:
    if field.kind is Kind.VECTOR_LIST:
        sizes = batch.sizes.get(field.name)
        wanted = {} if sizes is None else dict(zip(sizes.vertex, sizes.values, strict=True))
        found = np.bincount(vertex, minlength=batch.count)
        for number, size in wanted.items():
            if found[number] != size:
                raise GraphConnectionError(
                    f"{vertex_name(batch, number)}: field {field.name!r} has size {size}, "
                    f"but {found[number]} edges are connected"
                )
        return
    if len(vertex) == batch.count:
        return
    missing = np.setdiff1d(np.arange(batch.count), vertex)
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    raise GraphConnectionError(
        f"{vertex_name(batch, int(missing[0]))}{more}: field {field.name!r} is not connected to a tensor"
    )


def vertex_name(batch: VertexBatch, number: int) -> str:
    """A vertex in words, for messages."""
    tile = batch.tiles[number]
    where = f"tile {tile}" if tile >= 0 else "no tile"
    made = batch.sources[0] if batch.sources else ""
    return f"vertex {number} of type {batch.codelet.name} on {where}" + (
        f" (first made at {made})" if made else ""
    )
