"""What one C++ program has made in this process, by the numbers that it knows them by."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tremula.frontends.poplar.cpp import wire
from tremula.frontends.poplar.errors import PoplarError
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.program.programs import Program

#: programs that are made here have numbers from here on; those of the C++ program are smaller
FIRST_OWN_PROGRAM = 1 << 31


class CallbackFailed(PoplarError):
    """A callback of the C++ program threw an exception, which that process keeps."""


@dataclass(eq=False)
class Known:
    """A graph, and how much of it the C++ program knows."""

    graph: Graph
    variables: int = 0
    compute_sets: int = 0
    parts: list[int] = field(default_factory=list)


class Session:
    """One C++ program, at the other end of a socket."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        #: serves a frame that is not an answer
        self.serve: Callable[[str, memoryview], None] = lambda kind, frame: None
        self.wholes: dict[int, Known] = {}
        self._graphs: dict[int, Graph] = {}
        self._objects: dict[int, Any] = {}
        self._programs: dict[int, Program] = {}
        self._next = {"graph": 1, "object": 1, "program": FIRST_OWN_PROGRAM}
        #: the first error in what was sent without a question; told with each answer
        self.failure: Exception | None = None
        #: engines that are open
        self.engines: list[Any] = []

    # -- numbers ------------------------------------------------------------------------------------------------

    def _number(self, kind: str) -> int:
        number = self._next[kind]
        self._next[kind] = number + 1
        return number

    def add_graph(self, graph: Graph, whole: int | None = None) -> int:
        """Keep a graph, or a part of one; returns its number."""
        number = self._number("graph")
        self._graphs[number] = graph
        if whole is None:
            self.wholes[number] = Known(graph)
        else:
            self.wholes[whole].parts.append(number)
        return number

    def graph(self, number: int) -> Graph:
        """The graph, or part of one, with a number."""
        found: Graph = self._found(self._graphs, number, "graph")
        return found

    def whole(self, number: int) -> Known:
        """The graph that is not part of another."""
        found: Known = self._found(self.wholes, number, "graph")
        return found

    def whole_number(self, graph: Graph) -> int:
        """The number of the graph that a graph is, or is a part of."""
        for number, known in self.wholes.items():
            if known.graph.memory is graph.memory:
                return number
        raise PoplarError("the graph is not known to the C++ program")

    def graph_of(self, compute_set: ComputeSet) -> int:
        """The number of the graph that a compute set belongs to."""
        for number, known in self.wholes.items():
            sets = known.graph.contents.compute_sets
            if compute_set.number < len(sets) and sets[compute_set.number] is compute_set:
                return number
        raise PoplarError("the graph of a compute set is not known to the C++ program")

    def add_object(self, thing: Any) -> int:
        """Keep an object for the C++ program; returns its number."""
        number = self._number("object")
        self._objects[number] = thing
        return number

    def object(self, number: int) -> Any:
        """The object with a number."""
        return self._found(self._objects, number, "object")

    def add_program(self, program: Program, number: int | None = None) -> int:
        """Keep a program under a number that the C++ program chose, or a new one."""
        if number is None:
            number = self._number("program")
        elif not 0 < number < FIRST_OWN_PROGRAM or number in self._programs:
            raise wire.WireError(f"a program cannot have the number {number}")
        self._programs[number] = program
        return number

    def program(self, number: int) -> Program:
        """The program with a number."""
        found: Program = self._found(self._programs, number, "program")
        return found

    @staticmethod
    def _found(table: dict[int, Any], number: int, kind: str) -> Any:
        found = table.get(number)
        if found is None:
            raise wire.WireError(f"there is no {kind} with number {number}")
        return found

    def release(self, kind: str, number: int) -> None:
        """Forget what the C++ program needs no more."""
        if kind == "h":
            self._objects.pop(number, None)
        elif kind == "p":
            self._programs.pop(number, None)
        elif kind == "g":
            known = self.wholes.pop(number, None)
            self._graphs.pop(number, None)
            for part in known.parts if known else ():
                self._graphs.pop(part, None)

    # -- frames -------------------------------------------------------------------------------------------------

    def send(self, kind: str, writer: wire.Writer) -> None:
        """Send a frame."""
        wire.send(self._link, kind, writer.data)

    def receive(self) -> tuple[str, memoryview]:
        """The next frame."""
        return wire.receive(self._link)

    def ask(self, prepare: Callable[[wire.Writer], None], number: int) -> memoryview:
        """Ask the C++ program's callback `number`, and serve its requests until it has answered."""
        writer = self._question(number, True)
        prepare(writer)
        self.send("U", writer)
        while True:
            kind, frame = self.receive()
            if kind == "V":
                return frame
            if kind == "W":
                raise CallbackFailed("a callback of the program failed")
            self.serve(kind, frame)

    def tell(self, prepare: Callable[[wire.Writer], None], number: int) -> None:
        """Tell the C++ program's callback `number` something, without an answer."""
        writer = self._question(number, False)
        prepare(writer)
        self.send("P", writer)

    def _question(self, number: int, wanted: bool) -> wire.Writer:
        writer = wire.Writer()
        writer.begin_list(4)
        writer.boolean(wanted)
        writer.integer(number)
        self.write_changes(writer)
        return writer

    def write_changes(self, writer: wire.Writer) -> None:
        """Write what was added to graphs here since the C++ program was told last."""
        changes = list(self._changed())
        writer.begin_list(len(changes))
        for number, known in changes:
            _write_change(writer, number, known)

    def _changed(self) -> Iterator[tuple[int, Known]]:
        for number, known in self.wholes.items():
            contents = known.graph.contents
            if (known.variables, known.compute_sets) != (
                len(contents.memory.variables),
                len(contents.compute_sets),
            ):
                yield number, known

    @contextmanager
    def applying(self, known: Known) -> Iterator[Graph]:
        """Around what the C++ program recorded, and so knows."""
        contents = known.graph.contents
        yield known.graph
        known.variables, known.compute_sets = len(contents.memory.variables), len(contents.compute_sets)


def _write_change(writer: wire.Writer, number: int, known: Known) -> None:
    import numpy as np

    from tremula.frontends.poplar.types import ALL_TYPES

    contents = known.graph.contents
    added = contents.memory.variables[known.variables :]
    rows = [
        (each.address, each.bytes, ALL_TYPES.index(each.type), each.element_bytes, int(each.constant))
        for each in added
    ]
    writer.begin_list(5)
    writer.integer(number)
    writer.integer(len(contents.compute_sets))
    writer.integer(contents.memory.size)
    writer.column(np.array(rows, dtype=np.int64).reshape(-1))
    writer.begin_list(len(added))
    for variable in added:
        writer.text(variable.name)
    known.variables, known.compute_sets = len(contents.memory.variables), len(contents.compute_sets)
