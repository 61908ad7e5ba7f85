"""What the executor and the chip model ask of a codelet, whatever language it is written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.types import Type

Run = Callable[[], bool | None]
"""Computes all vertices of a batch once; false if a vertex returned false."""


class Kind(Enum):
    """The shape of what a field of a vertex is connected to."""

    SCALAR = "scalar"
    VECTOR = "vector"
    VECTOR_LIST = "vector list"  # Vector<Input<Vector<T>>> and VectorList<T>
    STATE = "state"  # a plain member, set by setInitialValue
    STATE_VECTOR = "state vector"  # Vector<T> without a direction


class Direction(Enum):
    """Which way data go through a field. State has none of its own: it belongs to the vertex."""

    INPUT = "Input"
    OUTPUT = "Output"
    INOUT = "InOut"
    NONE = "state"

    @property
    def reads(self) -> bool:
        return self in (Direction.INPUT, Direction.INOUT)

    @property
    def writes(self) -> bool:
        return self in (Direction.OUTPUT, Direction.INOUT)


class Base(Enum):
    """The class that a vertex is derived from: how many workers run its compute function."""

    VERTEX = "Vertex"
    MULTI_VERTEX = "MultiVertex"
    SUPERVISOR = "SupervisorVertex"


@dataclass(frozen=True)
class Field:
    """A field of a vertex class."""

    name: str
    kind: Kind
    direction: Direction
    type: Type | None  # None: the codelet takes any type here
    min_align: int = 1
    has_size: bool = True  # False for ONE_PTR: the codelet cannot ask for the size


@dataclass
class Edges:
    """The connections of one field, for all vertices of a batch.

    Vertex `v` has the edges `first[v]` to `first[v + 1]`; `first` is None where each vertex has exactly one. An edge is
    `counts[e]` elements of `dtype` from byte `offsets[e]` of the batch's buffer, `strides[e]` elements apart. Codelets
    that do not accept strides get edges whose strides are all 1.
    """

    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    strides: NDArray[np.int64]
    dtype: np.dtype[np.generic]
    first: NDArray[np.int64] | None = None


@dataclass
class StateVectors:
    """The values of a state vector field: vertex `v` has `values[first[v]:first[v + 1]]`."""

    values: NDArray[np.generic]
    first: NDArray[np.int64]


@dataclass
class Batch:
    """All vertices of one type in one compute set, with the memory that they work on.

    The executor owns `buffer`; its address does not change between `bind` and the last run. State is the batch's own: a
    codelet that changes a plain member finds the change in the next run.
    """

    count: int
    buffer: NDArray[np.uint8]
    edges: Mapping[str, Edges]
    state: Mapping[str, NDArray[np.generic] | StateVectors]
    accurate_half: bool = False
    workers: int = 6


@dataclass(frozen=True)
class Shapes:
    """The sizes of the vertices of one type, for an estimate of their cycles.

    `elements` gives the elements that each vertex has in a field, `lists` the edges of each vertex in a vector list
    field.
    """

    count: int
    elements: Mapping[str, NDArray[np.int64]]
    lists: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    state: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    workers: int = 6
    #: values of fields of one element, where they are known before the program runs (constants)
    scalars: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


class EstimateSource(Enum):
    """Where cycles come from; every place that prints them says so."""

    USER = "given by the program"
    CODELET = "given by the codelet"
    LIBRARY = "rules for library functions"
    DERIVED = "derived from the codelet's code"
    STATIC = "counted statically from the codelet's code"
    GUESSED = "guessed from the number of elements"


@dataclass(frozen=True)
class CycleEstimate:
    """Cycles of each vertex on one worker, the floating-point operations, and where the figures come from."""

    cycles: NDArray[np.float64]
    source: EstimateSource
    flops: NDArray[np.float64] | None = None


class Codelet(ABC):
    """The code of one vertex type."""

    name: str
    base: Base
    fields: Mapping[str, Field]
    accepts_strides: bool = False
    code_bytes: int | None = None  # size of the compiled code, where it is known

    @abstractmethod
    def bind(self, batch: Batch) -> Run:
        """Prepare a batch: check its fields once, and return what computes all its vertices.

        `bind` is called twice for most batches: once on a scratch buffer with guard bytes, for the first run, and once
        on the real buffer.
        """

    @abstractmethod
    def estimate(self, shapes: Shapes) -> CycleEstimate:
        """Return the cycles of each vertex, on the worker that runs it."""
