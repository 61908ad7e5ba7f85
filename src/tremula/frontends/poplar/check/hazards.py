"""Hazards inside a compute set: an element that two vertices write, or that one writes and another one reads.

Edges are compared as intervals of addresses. What is written is sorted once; each interval that is read is then looked
up in it, all of them in one call. Evenly spaced runs with gaps are taken apart into elements, but for those that are
read and lie where nothing is written. A vertex may read what it writes itself; that is no hazard, and `Overlaps` says
where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.check.mapped import TilesOfAddresses
from tremula.frontends.poplar.errors import ControlProgramError, PoplarError
from tremula.frontends.poplar.graph.edges import FieldEdges, vertex_name
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch, values

#: edges of a compute set: by batch, then by field
SetEdges = Mapping[str, Mapping[str, FieldEdges]]

#: elements of runs with gaps that are looked at together
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Intervals of addresses with the vertex that each belongs to, and the edge of its field."""

    begin: Ints
    end: Ints
    owner: Ints
    edge: Ints

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, places: Ints | NDArray[np.bool_]) -> _Intervals:
        return _Intervals(self.begin[places], self.end[places], self.owner[places], self.edge[places])


@dataclass
class Overlaps:
    """Where vertices of a compute set read what they write themselves."""

    _remote: dict[tuple[str, str], NDArray[np.bool_]] = field(default_factory=dict)
    _local: set[str] = field(default_factory=set)

    def remote(self, batch: str, name: str) -> NDArray[np.bool_] | None:
        """The edges of a field that vertices read from another tile and write too; None: there are none."""
        return self._remote.get((batch, name))

    def local(self, batch: str) -> bool:
        """Whether a vertex of a batch has an element of its own tile in two fields, of which it writes one."""
        return batch in self._local


class _Set:
    """A compute set with numbers for its vertices: those of one batch after those of another."""

    def __init__(self, memory: Memory, made: ComputeSet, edges: SetEdges) -> None:
        self.memory, self.made, self.edges = memory, made, edges
        self.batches = [(name, batch) for name, batch in made.batches.items() if batch.count]
        counts = np.array([batch.count for _, batch in self.batches], dtype=np.int64)
        self.first = np.cumsum(counts) - counts

    def batch_of(self, vertex: int) -> tuple[str, VertexBatch, int]:
        """The batch of a vertex, and its number there."""
        place = int(np.searchsorted(self.first, vertex, side="right")) - 1
        name, batch = self.batches[place]
        return name, batch, vertex - int(self.first[place])

    def name(self, vertex: int) -> str:
        """A vertex in words."""
        _, batch, number = self.batch_of(vertex)
        return vertex_name(batch, number)

    def hazard(self, address: int, first: int, second: int, what: str) -> PoplarError:
        """The error about two vertices and an element."""
        variable = self.memory.at(address)
        element = (address - variable.address) // variable.element_bytes
        made = f" (made at {variable.source})" if variable.source else ""
        return ControlProgramError(
            f"compute set {self.made.name or self.made.number!r} has a hazard: element {element} of "
            f"{variable.name or f'variable {variable.number}'}{made} is written by {self.name(first)} and {what} by "
            f"{self.name(second)}; vertices of one compute set run at the same time, so put them into two"
        )


def find_overlaps(memory: Memory, made: ComputeSet, edges: SetEdges, tiles: TilesOfAddresses) -> Overlaps:
    """Look for hazards, which are errors, and for vertices that read what they write."""
    found = Overlaps()
    every = _Set(memory, made, edges)
    written = _written(every)
    if not len(written):
        return found
    written = _sorted_without_hazard(every, written, found)
    for place, (name, batch) in enumerate(every.batches):
        for field_name, of_field in edges[name].items():
            if batch.codelet.fields[field_name].direction.writes:
                continue
            own = _reads_of_own(
                every, of_field, int(every.first[place]), _size(memory, batch, field_name, of_field), written
            )
            if own is not None:
                _sort_out(found, name, field_name, batch, of_field, own, tiles)
    return found


def _size(memory: Memory, batch: VertexBatch, name: str, edges: FieldEdges) -> int:
    field = batch.codelet.fields[name]
    if field.type is not None:
        return memory.element_size(field.type)
    used = edges.runs.offset[edges.runs.count > 0]
    return memory.at(int(used[0])).element_bytes if len(used) else 1


def _written(every: _Set) -> _Intervals:
    parts = []
    for place, (name, batch) in enumerate(every.batches):
        for field_name, found in every.edges[name].items():
            if batch.codelet.fields[field_name].direction.writes:
                size = _size(every.memory, batch, field_name, found)
                parts.append(_apart(*_intervals(found, int(every.first[place]), size), size))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _Intervals(none, none, none, none)
    return _Intervals(
        np.concatenate([each.begin for each in parts]),
        np.concatenate([each.end for each in parts]),
        np.concatenate([each.owner for each in parts]),
        np.concatenate([each.edge for each in parts]),
    )


def _intervals(found: FieldEdges, first: int, size: int) -> tuple[_Intervals, Ints, Ints]:
    """All runs of a field that are not empty, from their first to their last byte, with counts and steps."""
    runs = found.runs
    kept = np.flatnonzero(runs.count > 0)
    if len(kept) == len(runs):
        offset, count, step, edge = runs.offset, runs.count, runs.step, found.run_edges
    else:
        offset, count, step, edge = (
            runs.offset[kept],
            runs.count[kept],
            runs.step[kept],
            found.run_edges[kept],
        )
    far = offset + (count - 1) * step
    spans = _Intervals(
        np.minimum(offset, far), np.maximum(offset, far) + size, found.vertex[edge] + first, edge
    )
    return spans, count, np.where(count > 1, step, size)


def _apart(spans: _Intervals, count: Ints, step: Ints, size: int) -> _Intervals:
    """The same with runs that have gaps as single elements."""
    gaps = np.abs(step) > size
    if not gaps.any():
        return spans
    places = np.flatnonzero(gaps)
    repeats = count[places]
    owner = np.repeat(places, repeats)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    begin = spans.begin[owner] + within * np.abs(step[owner])
    plain = spans.take(~gaps)
    return _Intervals(
        np.concatenate((plain.begin, begin)),
        np.concatenate((plain.end, begin + size)),
        np.concatenate((plain.owner, spans.owner[owner])),
        np.concatenate((plain.edge, spans.edge[owner])),
    )


def _sorted_without_hazard(every: _Set, written: _Intervals, found: Overlaps) -> _Intervals:
    """What is written, sorted and without overlaps; an element that two vertices write is an error."""
    if not (written.begin[1:] >= written.begin[:-1]).all():
        written = written.take(np.argsort(written.begin, kind="stable"))
    begin, end, owner = written.begin, written.end, written.owner
    reach = np.maximum.accumulate(end)
    touching = np.flatnonzero(begin[1:] < reach[:-1])
    if not len(touching):
        return written
    # what an interval overlaps has reached furthest so far: it is of the same vertex, or there is a hazard
    furthest = np.maximum.accumulate(np.where(end == reach, np.arange(len(end)), 0))
    other = furthest[:-1][touching]
    problem = np.flatnonzero(owner[other] != owner[touching + 1])
    if len(problem):
        place = int(touching[problem[0]])
        first, second = int(other[problem[0]]), place + 1
        raise every.hazard(int(begin[second]), int(owner[first]), int(owner[second]), "written")
    for vertex in np.unique(owner[touching + 1]).tolist():
        found._local.add(every.batch_of(vertex)[0])
    return _merged(written, reach)


def _merged(written: _Intervals, reach: Ints) -> _Intervals:
    """Intervals that overlap as one: they belong to one vertex."""
    new = np.concatenate(([True], written.begin[1:] >= reach[:-1]))
    starts = np.flatnonzero(new)
    lasts = np.concatenate((starts[1:], [len(new)])) - 1
    return _Intervals(written.begin[starts], reach[lasts], written.owner[starts], written.edge[starts])


def _reads_of_own(
    every: _Set, found: FieldEdges, first: int, size: int, written: _Intervals
) -> NDArray[np.bool_] | None:
    """The edges of a field that only reads in which vertices find what they write; None: there are none."""
    spans, count, step = _intervals(found, first, size)
    touched = _touched(spans, written)
    if not touched.any():
        return None
    own = np.zeros(len(found), dtype=np.bool_)
    near = np.flatnonzero(touched)
    limits = np.cumsum(np.where(np.abs(step[near]) > size, count[near], 1))
    begin = 0
    while begin < len(near):
        done = limits[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(limits, done + _CHUNK, side="right")))
        part = near[begin:end]
        pieces = _apart(spans.take(part), count[part], step[part], size)
        pieces = pieces.take(_touched(pieces, written))
        _only_own(every, pieces, written)
        own[pieces.edge] = True
        begin = end
    return own if own.any() else None


def _touched(spans: _Intervals, written: _Intervals) -> NDArray[np.bool_]:
    """Which intervals have something in common with what is written."""
    before = np.searchsorted(written.begin, spans.end, side="left")
    found = before > 0
    found &= written.end[np.maximum(before - 1, 0)] > spans.begin
    return found


def _only_own(every: _Set, reads: _Intervals, written: _Intervals) -> None:
    """Raise unless all that these intervals meet is written by the vertex that reads it."""
    if not len(reads):
        return
    low = np.searchsorted(written.end, reads.begin, side="right")
    high = np.searchsorted(written.begin, reads.end, side="left") - 1
    stretches = np.cumsum(np.concatenate(([0], written.owner[1:] != written.owner[:-1])))
    own = (stretches[low] == stretches[high]) & (written.owner[low] == reads.owner)
    if own.all():
        return
    place = int(np.flatnonzero(~own)[0])
    writers = np.arange(int(low[place]), int(high[place]) + 1)
    writer = int(writers[np.flatnonzero(written.owner[writers] != reads.owner[place])[0]])
    address = max(int(reads.begin[place]), int(written.begin[writer]))
    raise every.hazard(address, int(written.owner[writer]), int(reads.owner[place]), "read")


def _sort_out(
    found: Overlaps,
    name: str,
    field_name: str,
    batch: VertexBatch,
    edges: FieldEdges,
    own: NDArray[np.bool_],
    tiles: TilesOfAddresses,
) -> None:
    """Edges with an element of another tile are remote; the rest is read in place."""
    runs = np.flatnonzero(own[edges.run_edges])
    part = edges.runs.take(runs)
    edge = np.repeat(edges.run_edges[runs], part.count)
    elsewhere = tiles.of(part.addresses()) != values(batch.tiles)[edges.vertex[edge]]
    remote = np.zeros(len(edges), dtype=np.bool_)
    remote[edge[elsewhere]] = True
    if remote.any():
        found._remote[name, field_name] = remote
    if (own & ~remote).any():
        found._local.add(name)
