"""The plain members and state vectors of the vertices of a batch, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Field, Kind, StateVectors
from tremula.frontends.poplar.errors import GraphObjectCreationError
from tremula.frontends.poplar.graph.edges import vertex_name
from tremula.frontends.poplar.graph.vertices import States, VertexBatch

Column = NDArray[np.generic] | StateVectors


def columns(batch: VertexBatch, accurate_half: bool) -> dict[str, Column]:
    """The initial values of each member. A member that was not set is zero."""
    found: dict[str, Column] = {}
    for field in batch.codelet.fields.values():
        states = batch.states.get(field.name)
        if field.kind is Kind.STATE_VECTOR:
            found[field.name] = _vectors(batch, field, states, accurate_half)
        elif field.kind is Kind.STATE and (field.type is not None or states is not None):
            found[field.name] = _plain(batch, field, states, accurate_half)
    return found


def _plain(
    batch: VertexBatch, field: Field, states: States | None, accurate_half: bool
) -> NDArray[np.generic]:
    if states is None:
        return np.zeros(batch.count, dtype=_dtype(field, accurate_half))
    try:
        given = np.asarray(states.values)
    except ValueError:
        given = np.zeros(0, dtype=object)
    if given.dtype.kind not in "biuf":
        raise GraphObjectCreationError(
            f"{vertex_name(batch, states.vertex[0])}: the values of member {field.name!r} have different shapes, "
            "or are not numbers"
        )
    dtype = _dtype(field, accurate_half) if field.type is not None else given.dtype
    column = np.zeros((batch.count, *given.shape[1:]), dtype=dtype)
    column[np.array(states.vertex, dtype=np.int64)] = _cast(batch, field, given, dtype)
    return column


def _vectors(batch: VertexBatch, field: Field, states: States | None, accurate_half: bool) -> StateVectors:
    dtype = _dtype(field, accurate_half)
    last: dict[int, Any] = {} if states is None else dict(zip(states.vertex, states.values, strict=True))
    sizes = np.zeros(batch.count, dtype=np.int64)
    for vertex, value in last.items():
        sizes[vertex] = np.size(value)
    first = np.concatenate(([0], np.cumsum(sizes)))
    every = np.zeros(int(first[-1]), dtype=dtype)
    for vertex, value in last.items():
        every[first[vertex] : first[vertex + 1]] = _cast(batch, field, np.ravel(value), dtype)
    return StateVectors(every, first)


def _dtype(field: Field, accurate_half: bool) -> np.dtype[np.generic]:
    return np.dtype(np.uint8) if field.type is None else field.type.storage(accurate_half)


def _cast(
    batch: VertexBatch, field: Field, given: NDArray[Any], dtype: np.dtype[np.generic]
) -> NDArray[np.generic]:
    made = given.astype(dtype)
    if dtype.kind in "iu" and given.dtype.kind in "iuf" and not np.array_equal(made, given):
        raise GraphObjectCreationError(
            f"member {field.name!r} of vertex type {batch.codelet.name} holds {field.type}, "
            f"which cannot hold all of the values given"
        )
    return made
