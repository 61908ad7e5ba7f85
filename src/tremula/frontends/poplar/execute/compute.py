"""Compute sets, prepared for execution: one call for all vertices of a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.check.hazards import Overlaps
from tremula.frontends.poplar.codelets.codelet import Batch, Edges, StateVectors
from tremula.frontends.poplar.execute import moves, state
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.guards import Guards, outside_of_snapshot
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.execute.staging import AllEdges, StagedField, dtype_of, stage
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch

#: computes a batch; false if a vertex returned false
Run = Callable[[], bool | None]


@dataclass(frozen=True)
class Machine:
    """What codelets are told about the chip."""

    workers: int
    accurate_half: bool


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """All vertices of one type in one compute set: where their edges are, and what is copied around a run."""

    batch: VertexBatch
    edges: AllEdges
    fields: Sequence[StagedField]
    state: Mapping[str, state.Column]
    guards: Guards
    #: whether a vertex reads elements in place that it writes too
    aliased: bool
    #: bytes of the memory before the scratch space
    memory_bytes: int

    def bind(self, arena: Arena, machine: Machine, *, checked: bool) -> Sequence[Run]:
        """The calls of one run; `checked`: the first one looks for writes outside the edges."""
        count = self.batch.count
        own = {name: _copied(column) for name, column in self.state.items()}

        def bound(edges: Mapping[str, Edges]) -> Run:
            made = Batch(count, arena.bytes, edges, own, machine.accurate_half, machine.workers)
            return self.batch.codelet.bind(made)

        plain = {each.field.name: each.edges for each in self.fields}
        before = [moves.copy(*each.before, arena) for each in self.fields if each.before is not None]
        after = [moves.copy(*each.after, arena) for each in self.fields if each.after is not None]
        if not checked or not self.guards.needed:
            return [*before, bound(plain), *after]
        if self.aliased:
            return [_Watched(self, arena, [*before, bound(plain), *after])]
        guarded = {name: self.guards.edges(name) or edges for name, edges in plain.items()}
        reads = [
            moves.copy(*each.before, arena)
            for each in self.fields
            if each.before is not None and not each.field.direction.writes
        ]
        first = bound(guarded)
        return [_First(self.guards, arena, reads, first, lambda: [*before, bound(plain), *after])]


class _First:
    """The calls of a batch whose first run is between guards."""

    def __init__(
        self,
        guards: Guards,
        arena: Arena,
        reads: Sequence[Call],
        run: Run,
        later: Callable[[], Sequence[Run]],
    ) -> None:
        self._guards, self._arena, self._reads, self._run, self._later = guards, arena, reads, run, later
        self._calls: Sequence[Run] | None = None

    def __call__(self) -> bool:
        if self._calls is not None:
            return all_run(self._calls)
        self._guards.enter(self._arena)
        for read in self._reads:
            read()
        result = self._run()
        self._guards.leave(self._arena)
        self._calls = self._later()
        return result is not False


class _Watched:
    """The calls of a batch whose first run is compared with a copy of the memory."""

    def __init__(self, prepared: PreparedBatch, arena: Arena, calls: Sequence[Run]) -> None:
        self._prepared, self._arena, self._calls = prepared, arena, calls
        self._watched = False

    def __call__(self) -> bool:
        if self._watched:
            return all_run(self._calls)
        prepared, arena = self._prepared, self._arena
        before = arena.bytes[: prepared.memory_bytes].copy()
        result = all_run(self._calls)
        outside_of_snapshot(prepared.batch, prepared.fields, prepared.edges, arena, before)
        self._watched = True
        return result


def all_run(calls: Sequence[Run]) -> bool:
    """Run all; false if one of them returned false."""
    result = True
    for call in calls:
        if call() is False:
            result = False
    return result


def prepare(
    memory: Memory,
    made: ComputeSet,
    edges: Mapping[str, AllEdges],
    overlaps: Overlaps,
    scratch: int,
) -> tuple[list[PreparedBatch], int]:
    """The batches of a compute set, and the end of the scratch space that a run needs."""
    prepared = []
    end = scratch
    for name, batch in made.batches.items():
        if not batch.count:
            continue
        fields: list[StagedField] = []
        place = scratch
        for field_name, found in edges[name].items():
            field = batch.codelet.fields[field_name]
            staged, place = stage(
                batch,
                field,
                found,
                dtype_of(memory, batch, field, found),
                place,
                overlaps.remote(name, field_name),
            )
            fields.append(staged)
        guards = Guards(batch, fields, edges[name], place)
        end = max(end, guards.end)
        columns = state.columns(batch, memory.accurate_half)
        local = overlaps.local(name)
        prepared.append(PreparedBatch(batch, edges[name], fields, columns, guards, local, memory.size))
    return prepared, end


def _copied(column: state.Column) -> NDArray[np.generic] | StateVectors:
    if isinstance(column, StateVectors):
        return StateVectors(column.values.copy(), column.first)
    return column.copy()
