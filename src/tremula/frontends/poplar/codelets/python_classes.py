"""Vertices as Python classes: the base classes, and the annotations that say what the fields of a vertex are.

    class Scale(Vertex):
        x: Input[Vector[FLOAT]]
        y: Output[Vector[FLOAT]]
        k: float

        def compute(self):
            for i in range(len(self.x)):
                self.y[i] = self.k * self.x[i]

A class may have a static method `estimate(sizes, state)` that returns its cycles: `sizes` gives the elements of each
field, `state` the values of plain members, both as columns with one value for each vertex.
"""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Base, Direction, Field, Kind
from tremula.frontends.poplar.errors import GraphObjectCreationError
from tremula.frontends.poplar.types import BOOL, FLOAT, INT, Type, type_of_array


class VectorLayout(Enum):
    """How a vector lies in the memory of a tile; ONE_PTR has no size that a codelet could ask for."""

    SPAN = 0
    ONE_PTR = 1
    SCALED_PTR32 = 2
    SCALED_PTR64 = 3
    SCALED_PTR128 = 4
    COMPACT_PTR = 5
    SHORT_SPAN = 8


class VectorListLayout(Enum):
    """How a list of vectors lies in the memory of a tile."""

    ONE_PTR = 0
    COMPACT_DELTAN = 4
    DELTANELEMENTS = 5
    DELTAN = 6


@dataclass(frozen=True)
class Annotation:
    """What an annotation says: a kind of field, a direction, and the type of its elements (None: any)."""

    kind: Kind
    direction: Direction
    type: Type | None
    min_align: int = 1
    has_size: bool = True


def element_type(given: Any) -> Type | None:
    """The element type that an annotation names: one of Poplar's, a Python type, or a NumPy type; Any is None."""
    if isinstance(given, Type):
        return given
    if given is Any or isinstance(given, typing.TypeVar):
        return None
    if given in (bool, int, float):
        return {bool: BOOL, int: INT, float: FLOAT}[given]
    try:
        found = type_of_array(np.dtype(given))
    except TypeError:
        found = None
    if found is None:
        raise GraphObjectCreationError(
            f"{given!r:.80} is not a type of elements; use poplar.FLOAT and the like"
        )
    return found


class _Container:
    """A field in brackets: `Input[...]`, `Vector[...]`."""

    direction: ClassVar[Direction] = Direction.NONE


class Vector(_Container):
    """`Vector[type]`: elements side by side. `Vector[type, layout, alignment]` as in C++."""

    def __class_getitem__(cls, given: Any) -> Annotation:
        element, *rest = given if isinstance(given, tuple) else (given,)
        align = next((each for each in rest if isinstance(each, int) and not isinstance(each, bool)), 1)
        layout = next((each for each in rest if isinstance(each, VectorLayout)), VectorLayout.SPAN)
        sized = layout in (VectorLayout.SPAN, VectorLayout.SHORT_SPAN)
        if isinstance(element, Annotation):
            if element.direction is Direction.NONE or element.kind is Kind.VECTOR_LIST:
                raise GraphObjectCreationError(
                    "a vector of vectors needs a direction: Vector[Input[Vector[...]]]"
                )
            return Annotation(Kind.VECTOR_LIST, element.direction, element.type, element.min_align)
        return Annotation(Kind.STATE_VECTOR, Direction.NONE, element_type(element), align, sized)


class VectorList(_Container):
    """`VectorList[type]`: several vectors, each connected on its own."""

    def __class_getitem__(cls, given: Any) -> Annotation:
        element = given[0] if isinstance(given, tuple) else given
        return Annotation(Kind.VECTOR_LIST, Direction.NONE, element_type(element))


class _Directed(_Container):
    def __class_getitem__(cls, given: Any) -> Annotation:
        if given in (Vector, VectorList):
            given = given[Any]
        if not isinstance(given, Annotation):
            return Annotation(Kind.SCALAR, cls.direction, element_type(given))
        kind = Kind.VECTOR if given.kind is Kind.STATE_VECTOR else given.kind
        if given.direction is not Direction.NONE:
            raise GraphObjectCreationError(f"{cls.__name__}[...] holds a field that has a direction already")
        return Annotation(kind, cls.direction, given.type, given.min_align, given.has_size)


class Input(_Directed):
    """A field that a vertex reads."""

    direction = Direction.INPUT


class Output(_Directed):
    """A field that a vertex writes."""

    direction = Direction.OUTPUT


class InOut(_Directed):
    """A field that a vertex reads and writes."""

    direction = Direction.INOUT


class PythonVertex:
    """What all vertex classes have in common."""

    base: ClassVar[Base]


class Vertex(PythonVertex):
    """One worker runs `compute(self)`."""

    base = Base.VERTEX


class MultiVertex(PythonVertex):
    """All workers of the tile run `compute(self, worker)`, in any order."""

    base = Base.MULTI_VERTEX

    @staticmethod
    def numWorkers() -> int:  # noqa: N802  the public name
        """How many workers a tile has."""
        return 6


class SupervisorVertex(PythonVertex):
    """The supervisor of the tile runs `compute(self)`."""

    base = Base.SUPERVISOR


def fields_of(vertex: type[PythonVertex]) -> dict[str, Field]:
    """The fields of a vertex class, those of its base classes first."""
    try:
        try:
            hints = typing.get_type_hints(vertex)
        except NameError:  # the module is not an imported one: its names are those that the methods see
            seen = getattr(getattr(vertex, "compute", None), "__globals__", {})
            hints = typing.get_type_hints(vertex, {**globals(), **seen})
    except Exception as problem:
        raise GraphObjectCreationError(
            f"the annotations of {vertex.__qualname__} cannot be read: {type(problem).__name__}: {problem}. "
            "Names in them have to be known where the class's module is"
        ) from None
    fields: dict[str, Field] = {}
    for owner in reversed(vertex.__mro__):
        for name in inspect.get_annotations(owner):
            if name in hints and owner not in (PythonVertex, Vertex, MultiVertex, SupervisorVertex):
                given = hints[name]
                if typing.get_origin(given) is ClassVar:
                    continue
                fields[name] = _field(vertex, name, given)
    return fields


def _field(vertex: type, name: str, given: Any) -> Field:
    if given in (Input, Output, InOut, Vector, VectorList):
        given = given[Any]
    try:
        found = (
            given
            if isinstance(given, Annotation)
            else Annotation(Kind.STATE, Direction.NONE, element_type(given))
        )
    except GraphObjectCreationError as problem:
        raise GraphObjectCreationError(
            f"field {name!r} of {vertex.__qualname__}: {problem.message}"
        ) from None
    if found.kind is Kind.VECTOR_LIST and found.direction is Direction.NONE:
        raise GraphObjectCreationError(
            f"field {name!r} of {vertex.__qualname__} is a list of vectors without a direction: write "
            "Input[VectorList[...]], Output[...] or InOut[...]"
        )
    return Field(name, found.kind, found.direction, found.type, found.min_align, found.has_size)
