"""Vertices and their fields, as users refer to them, and what may be connected to a field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tremula.frontends.poplar.codelets.codelet import Field, Kind
from tremula.frontends.poplar.errors import GraphConnectionError, UnknownField
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.vertices import WHOLE, States, VertexBatch
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.lines import user_line

if TYPE_CHECKING:
    from tremula.frontends.poplar.graph.graph import Graph


class VertexRef:
    """A vertex: its batch and its number in it."""

    __slots__ = ("batch", "graph", "number")

    def __init__(self, graph: Graph, batch: VertexBatch, number: int) -> None:
        self.graph, self.batch, self.number = graph, batch, number

    def __getitem__(self, name: str) -> FieldRef:
        field_of(self, name)
        return FieldRef(self, name)


class FieldRef:
    """A field of a vertex, or one edge of it."""

    __slots__ = ("edge", "name", "vertex")

    def __init__(self, vertex: VertexRef, name: str, edge: int | None = None) -> None:
        self.vertex, self.name, self.edge = vertex, name, edge

    def __getitem__(self, edge: int) -> FieldRef:
        return FieldRef(self.vertex, self.name, edge)


def field_of(vertex: VertexRef, name: str) -> Field:
    """The field of this name; an unknown one is an error that lists those that there are."""
    found = vertex.batch.codelet.fields.get(name)
    if found is None:
        known = ", ".join(vertex.batch.codelet.fields) or "none"
        raise UnknownField(
            f"vertex type {vertex.batch.codelet.name} has no field {name!r} ({user_line()}); its fields are: {known}"
        )
    return found


def connect_field(vertex: VertexRef, name: str, what: Any, edge: int | None = None) -> None:
    """Connect a view, a list of views, or a value to a field, or to one edge of it."""
    field = field_of(vertex, name)
    if isinstance(what, View):
        if what.type is not field.type and field.type is not None:
            raise GraphConnectionError(
                f"field {name!r} of vertex type {vertex.batch.codelet.name} holds {field.type}, "
                f"the tensor {what.type} ({user_line()})"
            )
        _connect_view(vertex, field, what, edge)
    elif isinstance(what, Sequence) and what and isinstance(what[0], View):
        if field.kind is Kind.VECTOR_LIST and edge is None:
            for number, each in enumerate(what):
                connect_field(vertex, name, each, number)
        else:
            connect_field(vertex, name, concat([each.flatten() for each in what]), edge)
    elif field.kind in (Kind.STATE, Kind.STATE_VECTOR):
        set_state(vertex, name, what)
    else:
        _connect_value(vertex, field, what, edge)


def _connect_view(vertex: VertexRef, field: Field, view: View, edge: int | None) -> None:
    connections = vertex.batch.connections_of(field.name)
    if field.kind is Kind.VECTOR:
        if edge is None and len(view.shape) != 1:
            view = view.flatten()
        connections.add(vertex.number, WHOLE if edge is None else edge, view)
    elif field.kind is Kind.SCALAR:
        if view.elements != 1:
            raise GraphConnectionError(
                f"field {field.name!r} of vertex type {vertex.batch.codelet.name} holds one element, "
                f"the tensor has {view.elements} ({user_line()})"
            )
        connections.add(vertex.number, WHOLE, view)
    elif field.kind is Kind.VECTOR_LIST:
        if edge is not None:
            connections.add(vertex.number, edge, view.flatten())
        elif view.rank < 2:
            raise GraphConnectionError(
                f"field {field.name!r} of vertex type {vertex.batch.codelet.name} is a list of vectors: connect a "
                f"tensor with two dimensions or a list of tensors, not one of shape {list(view.shape)} ({user_line()})"
            )
        else:
            for number, row in enumerate(view):
                connections.add(vertex.number, number, row.flatten())
    else:
        raise GraphConnectionError(
            f"field {field.name!r} of vertex type {vertex.batch.codelet.name} is not an edge: set it with "
            f"setInitialValue ({user_line()})"
        )


def _connect_value(vertex: VertexRef, field: Field, value: Any, edge: int | None) -> None:
    if field.direction.writes or field.type is None:
        raise GraphConnectionError(
            f"field {field.name!r} of vertex type {vertex.batch.codelet.name} needs a tensor, "
            f"not {value!r} ({user_line()})"
        )
    several = isinstance(value, Sequence)
    constant = vertex.graph.add_constant(field.type, [len(value)] if several else [], value, field.name)
    vertex.graph.contents.beside_vertices.append(
        (vertex.graph.memory.at(constant.offset).number, vertex.batch, vertex.number)
    )
    _connect_view(vertex, field, constant, edge)


def set_state(vertex: VertexRef, name: str, value: Any) -> None:
    """Set a plain member of a vertex, or a state vector."""
    field = field_of(vertex, name)
    if field.kind not in (Kind.STATE, Kind.STATE_VECTOR):
        raise GraphConnectionError(
            f"field {name!r} of vertex type {vertex.batch.codelet.name} is an edge: "
            f"connect a tensor to it ({user_line()})"
        )
    states = vertex.batch.states_of(name)
    states.vertex.append(vertex.number)
    states.values.append(value)


def set_size(vertex: VertexRef, name: str, size: int) -> None:
    """Set how many edges a list has, or how many elements a state vector has."""
    field = field_of(vertex, name)
    if field.kind is Kind.STATE_VECTOR:
        set_state(vertex, name, [0] * size)
        return
    if field.kind not in (Kind.VECTOR, Kind.VECTOR_LIST):
        raise GraphConnectionError(
            f"field {name!r} of vertex type {vertex.batch.codelet.name} has no size ({user_line()})"
        )
    states = vertex.batch.sizes.setdefault(name, States())
    states.vertex.append(vertex.number)
    states.values.append(int(size))
