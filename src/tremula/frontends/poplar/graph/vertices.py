"""The vertices of a compute set, as columns: there may be millions.

Vertices of one type in one compute set are a batch, which is executed by one call. What a vertex is connected to is
appended to the columns of its field; a connection that is one run takes no object of its own.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Codelet
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.view import View

#: an edge that is a whole field; others are numbered parts of a list or a vector
WHOLE = 0


def column() -> array[int]:
    """A column of 64-bit integers."""
    return array("q")


def values(source: array[int]) -> Ints:
    """A column as an array of its own."""
    return np.array(source, dtype=np.int64)


@dataclass(eq=False)
class Connections:
    """What one field of the vertices of a batch is connected to, in the order of the calls.

    Edge `number` of vertex `vertex` has `count` elements from address `offset`, `step` bytes apart. Where a view is not
    one run, `offset` is -1 and `count` its place in `views`.
    """

    vertex: array[int] = field(default_factory=column)
    number: array[int] = field(default_factory=column)
    offset: array[int] = field(default_factory=column)
    count: array[int] = field(default_factory=column)
    step: array[int] = field(default_factory=column)
    views: list[View] = field(default_factory=list)

    def add(self, vertex: int, number: int, view: View) -> None:
        """Connect a view to one edge."""
        run = view.single_run()
        if run is None:
            run = (-1, len(self.views), 0)
            self.views.append(view)
        elif not run[1]:  # an empty view may begin outside the memory
            run = (0, 0, run[2])
        self.vertex.append(vertex)
        self.number.append(number)
        self.offset.append(run[0])
        self.count.append(run[1])
        self.step.append(run[2])

    def extend(self, vertex: Ints, number: Ints, offset: Ints, count: Ints, step: Ints) -> None:
        """Connect many runs at once."""
        for mine, more in (
            (self.vertex, vertex),
            (self.number, number),
            (self.offset, offset),
            (self.count, count),
            (self.step, step),
        ):
            mine.frombytes(np.ascontiguousarray(more, dtype=np.int64).tobytes())


@dataclass(eq=False)
class States:
    """Values given to one plain member or state vector, in the order of the calls."""

    vertex: array[int] = field(default_factory=column)
    values: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class VertexBatch:
    """All vertices of one type in one compute set."""

    codelet: Codelet
    tiles: array[int] = field(default_factory=column)
    connections: dict[str, Connections] = field(default_factory=dict)
    states: dict[str, States] = field(default_factory=dict)
    sizes: dict[str, States] = field(default_factory=dict)
    #: estimates of single vertices: number of the vertex to cycles and operations
    estimates: dict[int, tuple[float, float]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many vertices there are."""
        return len(self.tiles)

    def connections_of(self, name: str) -> Connections:
        """The connections of a field."""
        found = self.connections.get(name)
        if found is None:
            found = self.connections[name] = Connections()
        return found

    def states_of(self, name: str) -> States:
        """The values of a plain member."""
        found = self.states.get(name)
        if found is None:
            found = self.states[name] = States()
        return found


@dataclass(eq=False)
class ComputeSet:
    """Vertices that run together. Programs name it; the graph owns it."""

    number: int
    name: str
    source: str = ""
    batches: dict[str, VertexBatch] = field(default_factory=dict)

    def getId(self) -> int:  # noqa: N802  the public name
        """Its number in the graph."""
        return self.number
