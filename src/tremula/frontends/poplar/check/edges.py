"""Whether edges are what their fields take: one element for a scalar, elements of the right size, all within variables.

What Python programs connect is checked when they connect it. Programs in other languages send their edges as columns.
"""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Field, Kind
from tremula.frontends.poplar.errors import GraphConnectionError
from tremula.frontends.poplar.graph.edges import FieldEdges, vertex_name
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import VertexBatch


def check_edges(memory: Memory, batch: VertexBatch, field: Field, edges: FieldEdges, size: int) -> None:
    """Raise for the first edge that a field of element size `size` cannot be connected to."""
    if field.kind is Kind.SCALAR:
        _refuse(
            batch,
            field,
            edges.vertex,
            edges.counts != 1,
            "holds one element, not as many as it is connected to",
        )
    runs = edges.runs
    used = np.flatnonzero(runs.count > 0)
    if not len(used):
        return
    offset, count = runs.offset[used], runs.count[used]
    step = np.where(count > 1, runs.step[used], 0)
    vertex = edges.vertex[edges.run_edges[used]]
    far = offset + (count - 1) * step
    outside = (np.minimum(offset, far) < 0) | (np.maximum(offset, far) + size > memory.size)
    _refuse(batch, field, vertex, outside, "is connected to elements outside the graph's variables")
    sizes = memory.element_sizes
    owners = memory.numbers_of(offset)
    wrong = (sizes[owners] != size) | ((offset - memory.bases[owners]) % size != 0) | (step % size != 0)
    if field.direction.writes:
        constant = memory.constants[owners] | memory.constants[memory.numbers_of(far)]
        _refuse(batch, field, vertex, constant, "is written, and is connected to a constant")
    what = "the type of the field" if field.type is None else str(field.type)
    _refuse(batch, field, vertex, wrong, f"is connected to elements of another size than {what} has")


def _refuse(batch: VertexBatch, field: Field, vertices: np.ndarray, wrong: np.ndarray, problem: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        raise GraphConnectionError(
            f"{vertex_name(batch, int(vertices[places[0]]))}: field {field.name!r} {problem}"
        )
