"""Values of the wire as objects of the Python door, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from tremula.frontends.poplar.cpp import allowed, wire
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program.programs import Program, Sequence_
from tremula.frontends.poplar.types import ALL_TYPES, Type

_NUMBERS = {type_.name: number for number, type_ in enumerate(ALL_TYPES)}


class Decoder:
    """Turns the values of one request into objects, and keeps what its results are written to."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: empty sequences and lists that were made for arguments, in order
        self.sinks: list[Sequence_ | list[Any]] = []

    def value(self, raw: Any) -> Any:
        """The object that a value stands for."""
        if isinstance(raw, list):
            return [self.value(each) for each in raw]
        if isinstance(raw, dict):
            return {key: self.value(each) for key, each in raw.items()}
        how = _OBJECTS.get(type(raw))
        return raw if how is None else how(self, raw)

    def tensor(self, parts: wire.TensorParts) -> View:
        """A view of a graph that the program has; one that leaves the memory of the graph is an error."""
        graph = self._session.whole(parts.graph).graph
        type_ = element_type(parts.type)
        check_addresses(graph, type_, parts)
        addresses = None if parts.addresses is None else parts.addresses.astype(np.int64)
        return graph.view_class(graph, type_, parts.shape, parts.offset, parts.strides, addresses)

    def _reference(self, reference: wire.Reference) -> Any:
        session, number = self._session, reference.number
        match reference.kind:
            case "g":
                return session.graph(number)
            case "p":
                return session.program(number)
            case "h":
                return session.object(number)
            case "y":
                return element_type(number)
            case _:
                return callback(session, number)

    def _compute_set(self, named: wire.ComputeSetOf) -> ComputeSet:
        sets = self._session.whole(named.graph).graph.contents.compute_sets
        if not 0 <= named.number < len(sets):
            raise wire.WireError(f"there is no compute set {named.number}")
        return sets[named.number]

    def _sink(self, sink: wire.Sink) -> Sequence_ | list[Any]:
        made: Sequence_ | list[Any] = Sequence_() if sink.programs else []
        self.sinks.append(made)
        return made

    def _made(self, made: wire.Made) -> Any:
        return allowed.function(made.module, made.name)(*self.value(made.arguments))


_OBJECTS: dict[type, Callable[[Decoder, Any], Any]] = {
    wire.TensorParts: Decoder.tensor,
    wire.Reference: Decoder._reference,
    wire.ComputeSetOf: Decoder._compute_set,
    wire.Sink: Decoder._sink,
    wire.Made: Decoder._made,
    wire.Member: lambda decoder, member: allowed.member(member.module, member.name, member.member),
}


def element_type(number: int) -> Type:
    """The element type with a number."""
    if not 0 <= number < len(ALL_TYPES):
        raise wire.WireError(f"there is no element type with number {number}")
    return ALL_TYPES[number]


def check_addresses(graph: Graph, type_: Type, parts: wire.TensorParts) -> None:
    """Raise unless all elements lie in the memory of the graph."""
    if 0 in parts.shape:
        return
    if parts.addresses is not None:
        first, last = int(parts.addresses.min()), int(parts.addresses.max())
    else:
        spans = [(length - 1) * stride for length, stride in zip(parts.shape, parts.strides, strict=True)]
        first = parts.offset + sum(span for span in spans if span < 0)
        last = parts.offset + sum(span for span in spans if span > 0)
    if first < 0 or last + graph.element_size(type_) > graph.memory.size:
        raise wire.WireError("a tensor has elements outside the memory of its graph")


def callback(session: Session, number: int) -> Callable[..., Any]:
    """A function of the C++ program as a Python function."""

    def call(*arguments: Any) -> Any:
        def prepare(writer: wire.Writer) -> None:
            writer.begin_list(len(arguments))
            for each in arguments:
                write(session, writer, each)

        frame = session.ask(prepare, number)
        reader = wire.Reader(frame)
        found = Decoder(session).value(reader.value())
        reader.end()
        return found

    return call


# -- results ----------------------------------------------------------------------------------------------------


def write(session: Session, writer: wire.Writer, value: Any) -> None:
    """Write a result. What has no form of its own is kept, and its number is written."""
    for kinds, how in _WRITERS:
        if isinstance(value, kinds):
            how(session, writer, value)
            return
    if _is_interval(value):
        writer.begin_list(2)
        writer.integer(value.begin())
        writer.integer(value.end())
        return
    writer.reference("h", session.add_object(value))


def _is_interval(value: Any) -> bool:
    return type(value).__name__ == "Interval" and type(value).__module__.startswith("poplar")


def _write_tensor(session: Session, writer: wire.Writer, view: View) -> None:
    writer.tensor(
        wire.TensorParts(
            session.whole_number(view.graph),
            _NUMBERS[view.type.name],
            tuple(int(length) for length in view.shape),
            int(view.offset),
            tuple(int(stride) for stride in view.strides),
            view.address_list,
        )
    )


def _write_array(session: Session, writer: wire.Writer, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.kind in "iubf":
        writer.column(array)
    else:
        _write_list(session, writer, array.tolist())


def _write_list(session: Session, writer: wire.Writer, values: Sequence[Any]) -> None:
    found = list(values)
    writer.begin_list(len(found))
    for each in found:
        write(session, writer, each)


def _write_map(session: Session, writer: wire.Writer, values: Mapping[Any, Any]) -> None:
    writer.begin_map(len(values))
    for key, each in values.items():
        writer.key(str(key))
        write(session, writer, each)


def _write_enum(session: Session, writer: wire.Writer, value: Enum) -> None:
    if isinstance(value, int):
        writer.integer(int(value))
    else:
        writer.text(value.name)


_WRITERS: tuple[tuple[Any, Callable[[Session, wire.Writer, Any], None]], ...] = (
    (type(None), lambda session, writer, value: writer.none()),
    ((bool, np.bool_), lambda session, writer, value: writer.boolean(bool(value))),
    (Enum, _write_enum),
    (Integral, lambda session, writer, value: writer.integer(int(value))),
    (Real, lambda session, writer, value: writer.real(float(value))),
    (str, lambda session, writer, value: writer.text(value)),
    ((bytes, bytearray, memoryview), lambda session, writer, value: writer.raw(value)),
    (View, _write_tensor),
    (Type, lambda session, writer, value: writer.element_type(_NUMBERS[value.name])),
    (Program, lambda session, writer, value: writer.reference("p", session.add_program(value))),
    (ComputeSet, lambda session, writer, value: writer.compute_set(session.graph_of(value), value.number)),
    (np.ndarray, _write_array),
    (Mapping, _write_map),
    (Sequence, _write_list),
)
