"""The edges of a batch as a codelet gets them: in place where it can read and write them there, else in scratch space.

An edge is used in place if it is one run of neighbours, or an evenly spaced one and the codelet accepts strides.
Others are gathered into scratch space before the vertices run, and scattered from there after, all edges of a field at
once. No vertex reads what another one of its compute set writes (`check.hazards`), so a value that is read in place is
the one from before the compute set. A vertex that reads an element of another tile that it writes itself has a copy of
it: such edges are gathered too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Direction, Edges, Field, Kind
from tremula.frontends.poplar.errors import GraphConnectionError
from tremula.frontends.poplar.execute.moves import Places, of_runs
from tremula.frontends.poplar.graph.edges import FieldEdges, Runs, edges_of
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import VertexBatch

#: edges in scratch space begin at multiples of this, so that vector types can be loaded
_ALIGNMENT = 16

AllEdges = Mapping[str, FieldEdges]


@dataclass(frozen=True, eq=False)
class StagedField:
    """A field of a batch: where a codelet finds its edges, and what is copied before and after."""

    field: Field
    edges: Edges
    before: tuple[Places, Places] | None = None
    after: tuple[Places, Places] | None = None


def all_edges(batch: VertexBatch) -> AllEdges:
    """The edges of all fields of a batch that have any."""
    return {
        field.name: edges_of(batch, field)
        for field in batch.codelet.fields.values()
        if field.direction is not Direction.NONE
    }


def dtype_of(memory: Memory, batch: VertexBatch, field: Field, edges: FieldEdges) -> np.dtype[np.generic]:
    """How the elements of a field are kept. A field without a type has that of what it is connected to."""
    if field.type is not None:
        return memory.storage(field.type)
    numbers = np.unique(memory.numbers_of(edges.runs.offset[edges.runs.count > 0]))
    types = {memory.variables[number].type for number in numbers.tolist()}
    if len(types) > 1:
        names = ", ".join(sorted(str(each) for each in types))
        raise GraphConnectionError(
            f"field {field.name!r} of vertex type {batch.codelet.name} is connected to tensors of "
            f"different types: {names}"
        )
    return memory.storage(types.pop()) if types else np.dtype(np.float32)


def stage(
    batch: VertexBatch,
    field: Field,
    edges: FieldEdges,
    dtype: np.dtype[np.generic],
    scratch: int,
    remote: NDArray[np.bool_] | None = None,
) -> tuple[StagedField, int]:
    """A field with its edges in place or in scratch space from address `scratch` on, and where that ends.

    `remote` marks edges that must be gathered, because the vertex writes the same elements.
    """
    in_place = edges_in_place(edges, dtype.itemsize, batch.codelet.accepts_strides)
    if remote is not None:
        in_place &= ~remote
    offsets, strides = _single_runs(edges, dtype.itemsize)
    staged = np.flatnonzero(~in_place)
    first = _first(batch, field, edges)
    if not len(staged):
        return StagedField(field, Edges(offsets, edges.counts, strides, dtype, first)), scratch
    begins, end = places_one_after_another(edges.counts[staged], dtype.itemsize, scratch)
    offsets[staged], strides[staged] = begins, 1
    runs = (
        edges.runs
        if len(staged) == len(edges)
        else edges.runs.take(np.flatnonzero(~in_place[edges.run_edges]))
    )
    outside = of_runs(runs, dtype.itemsize)
    inside = scratch_places(begins, edges.counts[staged], dtype.itemsize)
    made = StagedField(
        field,
        Edges(offsets, edges.counts, strides, dtype, first),
        (outside, inside),
        (inside, outside) if field.direction.writes else None,
    )
    return made, end


def edges_in_place(edges: FieldEdges, size: int, accepts_strides: bool) -> NDArray[np.bool_]:
    """Which edges a codelet can use where they are."""
    if edges.single:
        if accepts_strides:
            return np.ones(len(edges), dtype=np.bool_)
        return np.asarray((edges.runs.step == size) | (edges.runs.count <= 1))
    runs = np.bincount(edges.run_edges, minlength=len(edges))
    if accepts_strides:
        return np.asarray(runs <= 1)
    plain = (edges.runs.step == size) | (edges.runs.count <= 1)
    crooked = np.bincount(edges.run_edges, ~plain, minlength=len(edges))
    return np.asarray((runs <= 1) & (crooked == 0))


def _single_runs(edges: FieldEdges, size: int) -> tuple[Ints, Ints]:
    """Address and stride of each edge that is one run; of others those of a run of it."""
    if edges.single:
        offsets, steps = edges.runs.offset.copy(), edges.runs.step
        return offsets, np.where(edges.runs.count > 1, steps // size, 1)
    offsets, strides = np.zeros(len(edges), dtype=np.int64), np.ones(len(edges), dtype=np.int64)
    offsets[edges.run_edges] = edges.runs.offset
    strides[edges.run_edges] = np.where(edges.runs.count > 1, edges.runs.step // size, 1)
    return offsets, strides


def _first(batch: VertexBatch, field: Field, edges: FieldEdges) -> Ints | None:
    if field.kind is not Kind.VECTOR_LIST:
        return None
    return np.asarray(np.searchsorted(edges.vertex, np.arange(batch.count + 1)), dtype=np.int64)


def places_one_after_another(counts: Ints, size: int, begin: int, gap: int = 0) -> tuple[Ints, int]:
    """Aligned addresses for edges in a row, `gap` bytes before each and after the last, and the end."""
    spans = -(-counts * size // _ALIGNMENT) * _ALIGNMENT + gap
    ends = begin + np.cumsum(spans)
    return np.asarray(ends - spans + gap, dtype=np.int64), int(ends[-1] if len(ends) else begin) + gap


def scratch_places(begins: Ints, counts: Ints, size: int) -> Places:
    """The elements of edges that each are a stretch of their own."""
    return of_runs(Runs(begins, counts, np.full(len(begins), size, dtype=np.int64)), size)


def moved_to(staged: StagedField, begins: Ints) -> StagedField:
    """The field with its edges as stretches at other addresses, and nothing to copy."""
    edges = replace(staged.edges, offsets=begins, strides=np.ones(len(begins), dtype=np.int64))
    return StagedField(staged.field, edges)
