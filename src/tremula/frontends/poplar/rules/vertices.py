"""The vertices of a graph with their cycles, edges and state, as the chip model takes them."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.codelets.codelet import (
    CycleEstimate,
    Direction,
    EstimateSource,
    Field,
    Kind,
    Shapes,
    StateVectors,
)
from tremula.frontends.poplar.execute import state
from tremula.frontends.poplar.graph.edges import FieldEdges, edges_of
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch, values
from tremula.frontends.poplar.rules import constants
from tremula.frontends.poplar.rules.elements import ElementNumbers
from tremula.program import placed

#: bytes of a pointer to an edge, and of the number of its elements beside it
_POINTER, _SIZE = 4, 4


def compute_set(graph: Graph, made: ComputeSet, numbers: ElementNumbers) -> placed.ComputeSet:
    """A compute set."""
    batches = tuple(_batch(graph, name, batch, numbers) for name, batch in made.batches.items())
    return placed.ComputeSet(made.name, batches)


def _batch(graph: Graph, name: str, batch: VertexBatch, numbers: ElementNumbers) -> placed.Vertices:
    edges = {
        field.name: edges_of(batch, field)
        for field in batch.codelet.fields.values()
        if field.direction is not Direction.NONE
    }
    columns = state.columns(batch, graph.memory.accurate_half)
    shapes = _shapes(graph, batch, edges, columns)
    estimate, source = _estimate(graph, name, batch, shapes)
    return placed.Vertices(
        type=name,
        base=placed.Base(batch.codelet.base.value),
        tile=values(batch.tiles),
        cycles=estimate.cycles,
        source=source,
        fields=tuple(_field(batch.codelet.fields[each], found, numbers) for each, found in edges.items()),
        flops=estimate.flops,
        state_bytes=_state_bytes(batch, columns),
        code_bytes=batch.codelet.code_bytes,
    )


def _shapes(
    graph: Graph, batch: VertexBatch, edges: dict[str, FieldEdges], columns: dict[str, state.Column]
) -> Shapes:
    elements: dict[str, Ints] = {}
    lists: dict[str, Ints] = {}
    for name, found in edges.items():
        elements[name] = np.bincount(found.vertex, found.counts, minlength=batch.count).astype(np.int64)
        if batch.codelet.fields[name].kind is Kind.VECTOR_LIST:
            lists[name] = np.bincount(found.vertex, minlength=batch.count).astype(np.int64)
    plain = {}
    for name, column in columns.items():
        if isinstance(column, StateVectors):
            elements[name] = np.diff(column.first)
        else:
            plain[name] = column
    known = constants.scalars(graph.memory, batch, edges)
    return Shapes(batch.count, elements, lists, plain, graph.contents.target.workers, known)


def _estimate(graph: Graph, name: str, batch: VertexBatch, shapes: Shapes) -> tuple[CycleEstimate, str]:
    """Cycles of all vertices: the program's for single vertices, then its estimator's, then the codelet's."""
    given = batch.estimates
    if len(given) < batch.count:
        estimator = graph.contents.estimators.get(name)
        found = estimator(shapes) if estimator is not None else batch.codelet.estimate(shapes)
    else:
        found = CycleEstimate(np.zeros(batch.count), EstimateSource.USER)
    if not given:
        return found, found.source.value
    cycles = found.cycles.copy()
    flops = np.zeros(batch.count) if found.flops is None else found.flops.copy()
    places = np.fromiter(given, dtype=np.int64, count=len(given))
    both = np.array(list(given.values()))
    cycles[places], flops[places] = both[:, 0], both[:, 1]
    user = EstimateSource.USER.value
    source = (
        user
        if len(given) == batch.count or found.source is EstimateSource.USER
        else f"{user} or {found.source.value}"
    )
    return CycleEstimate(cycles, EstimateSource.USER, flops), source


def _field(field: Field, edges: FieldEdges, numbers: ElementNumbers) -> placed.FieldRuns:
    runs, origin = numbers.of_runs(edges.runs)
    edge = edges.run_edges if origin is None else edges.run_edges[origin]
    single = origin is None and edges.single
    return placed.FieldRuns(
        name=field.name,
        reads=field.direction.reads,
        writes=field.direction.writes,
        runs=runs,
        vertex=edges.vertex[edge],
        pointer_bytes=_POINTER + (_SIZE if field.has_size and field.kind is not Kind.SCALAR else 0),
        edge=None if single else edge,
    )


def _state_bytes(batch: VertexBatch, columns: dict[str, state.Column]) -> Ints:
    total = np.zeros(batch.count, dtype=np.int64)
    for name, column in columns.items():
        if isinstance(column, StateVectors):
            item = _device_bytes(batch.codelet.fields[name], column.values.dtype)
            total += np.diff(column.first) * item + _POINTER + _SIZE
        else:
            extra = int(np.prod(column.shape[1:], dtype=np.int64))
            total += _device_bytes(batch.codelet.fields[name], column.dtype) * extra
    return total


def _device_bytes(field: Field, dtype: np.dtype[np.generic]) -> int:
    return field.type.size if field.type is not None else dtype.itemsize
