"""A vertex type of a compiled library, as the executor and the chip model see it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import (
    Base,
    Batch,
    Codelet,
    CycleEstimate,
    Direction,
    Edges,
    Field,
    Kind,
    Run,
    Shapes,
    StateVectors,
)
from tremula.frontends.poplar.codelets.cpp.library import (
    Library,
    MemberFacts,
    Prepared,
    VertexFacts,
    library_of,
)
from tremula.frontends.poplar.codelets.names import canonical
from tremula.frontends.poplar.errors import ApplicationRuntimeError, GraphProgramCompilationError, LinkError
from tremula.frontends.poplar.types import BY_LABEL
from tremula.invariants import instance

_ALIGNMENT = 64
#: what a run returns where every vertex returned true; other negative numbers: where not; else the vertex that failed
_ALL_TRUE = -1
Pointers = NDArray[np.int64]


def load(prepared: Prepared) -> dict[str, Codelet]:
    """Compile codelets and give them by all names that programs may use."""
    library = library_of(prepared)
    found: dict[str, Codelet] = {}
    for facts in library.vertices():
        if facts.code == "no":  # a base of other vertices
            continue
        codelet = CppCodelet(library, prepared, facts)
        for name in facts.names:
            found.setdefault(canonical(name), codelet)
    return found


class CppCodelet(Codelet):
    """A vertex class in C++."""

    def __init__(self, library: Library, prepared: Prepared, facts: VertexFacts) -> None:
        self.name = canonical(facts.names[0])
        self.base = Base(facts.base)
        self.facts = facts
        self.prepared = prepared
        self.fields = {each.name: _field(self.name, each) for each in facts.members}
        self.accurate_half = library.accurate_half
        self._library = library

    def bind(self, batch: Batch) -> Run:
        """Make the objects of all vertices; a run is one call."""
        if self.facts.code == "assembly":
            raise LinkError(
                f"vertex type {self.name} is implemented in assembly for the chip (isExternalCodelet), which cannot "
                "run here: give it a compute() in C++, or write it as a Python class"
            )
        count, entry = batch.count, self.facts.entry
        kept: list[Any] = [batch]
        objects = _aligned(count * self.facts.bytes)
        fields = np.zeros((max(len(self.facts.members), 1), 5), dtype=np.int64)
        states = np.zeros((max(len(self.facts.members), 1), 2), dtype=np.int64)
        for place, member in enumerate(self.facts.members):
            if member.kind == "state":
                states[place] = self._state(member, batch, kept)
            else:
                fields[place] = self._pointers(member, batch, kept)
        kept += [objects, fields, states]
        library = self._library
        library.bind(entry, objects.ctypes.data, count, fields.ctypes.data)
        address, state_address = objects.ctypes.data, states.ctypes.data

        def run(kept: list[Any] = kept) -> bool:
            result = library.run(entry, address, count, state_address)
            if result >= 0:
                raise ApplicationRuntimeError(
                    f"vertex {result} of type {self.name} failed: {library.failure()}"
                )
            return bool(result == _ALL_TRUE)

        return run

    def _pointers(self, member: MemberFacts, batch: Batch, kept: list[Any]) -> Pointers:
        """Buffer, offsets, counts, first edges and room for lists, as addresses."""
        if member.kind == "state vector":
            vectors = instance(batch.state[member.name], StateVectors)
            offsets = _column(vectors.first[:-1] * vectors.values.dtype.itemsize)
            counts, first = _column(np.diff(vectors.first)), None
            buffer = vectors.values.ctypes.data
        else:
            edges: Edges = batch.edges[member.name]
            offsets, counts = _column(edges.offsets), _column(edges.counts)
            first = None if edges.first is None else _column(edges.first)
            buffer = batch.buffer.ctypes.data
        lists = _aligned(len(offsets) * member.item_bytes)
        kept += [offsets, counts, first, lists]
        return np.array(
            [
                buffer,
                offsets.ctypes.data,
                counts.ctypes.data,
                0 if first is None else first.ctypes.data,
                lists.ctypes.data,
            ],
            dtype=np.int64,
        )

    def _state(self, member: MemberFacts, batch: Batch, kept: list[Any]) -> tuple[int, int]:
        column = batch.state.get(member.name)
        if column is None:
            return 0, 0
        values = instance(column, np.ndarray)
        size = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
        if size != member.bytes:
            if values.ndim == 1 and not values.any():  # an array that was never set
                return 0, 0
            raise GraphProgramCompilationError(
                f"member {member.name!r} of vertex type {self.name} has {member.bytes} bytes, its value {size}"
            )
        if not values.flags.c_contiguous:
            raise AssertionError(f"the column of {member.name} is not contiguous")
        kept.append(values)
        return values.ctypes.data, size

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        """Cycles counted in the compiled code, or from the number of elements; see `counting`."""
        from tremula.frontends.poplar.codelets.cpp import (
            counting,
        )  # compiles once more, only where it is asked

        return counting.estimate(self, shapes)


def _field(vertex: str, member: MemberFacts) -> Field:
    type_ = BY_LABEL.get(member.type)
    kind = Kind(member.kind)
    if type_ is None and kind is not Kind.STATE:
        raise GraphProgramCompilationError(
            f"field {member.name!r} of vertex type {vertex} has elements of a type that no tensor has: "
            "use bool, char, short, int, long long, their unsigned forms, half or float"
        )
    return Field(member.name, kind, Direction(member.direction), type_, member.align, member.has_size)


def _column(values: NDArray[Any]) -> Pointers:
    return np.ascontiguousarray(values, dtype=np.int64)


def _aligned(size: int) -> NDArray[np.uint8]:
    room = np.zeros(size + _ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + max(size, 1)]
