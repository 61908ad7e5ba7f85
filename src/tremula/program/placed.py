"""A program whose variables, vertices and copies have been put on tiles by hand, as Poplar programs do.

It is what a front end gives to the chip model. Everything of which there may be millions is a column of a NumPy array;
nothing here knows a framework. The elements of all variables are numbered in one sequence: variable `v` has the numbers
`first[v]` to `first[v] + elements[v]`. What a view covers is a list of runs over these numbers.

Tiles are those of one replica, IPU after IPU. What runs in which order is in `placed_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tremula.program.placed_steps import Step
    from tremula.program.work import Work

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def ints(values: Sequence[int] | NDArray[np.integer]) -> Ints:
    """`values` as a column of integers."""
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Runs:
    """Elements in order: `count` of them from `start`, `stride` apart, run after run.

    A stride of 0 names one element several times (a broadcast); a negative one goes backwards.
    """

    start: Ints
    count: Ints
    stride: Ints

    @classmethod
    def contiguous(cls, start: int, count: int) -> Runs:
        """One run of neighbouring elements."""
        return cls(ints([start]), ints([count]), ints([1]))

    @classmethod
    def of_elements(cls, elements: Ints) -> Runs:
        """Elements by their numbers, one by one; neighbours are joined to runs."""
        if not len(elements):
            return cls(ints([]), ints([]), ints([]))
        breaks = np.flatnonzero(np.diff(elements) != 1) + 1
        first = np.concatenate(([0], breaks))
        count = np.diff(np.concatenate((first, [len(elements)])))
        return cls(elements[first].astype(np.int64), count, np.ones(len(first), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def elements(self) -> int:
        """How many elements are named, repeated ones counted each time."""
        return int(self.count.sum())


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables, and on which tile each element lies.

    The mapping is a list of intervals of element numbers, sorted, none in another, each within one variable. An element
    in no interval is on no tile: a constant that was never mapped, or an error that the front end has reported.
    """

    names: Sequence[str]
    element_bytes: Ints
    elements: Ints
    first: Ints
    constant: Flags
    #: tells which variables keep their values from run to run, or are read before they are written
    always_live: Flags
    begin: Ints  #: of each interval
    end: Ints  #: of each interval, not included
    tile: Ints  #: of each interval

    @property
    def count(self) -> int:
        """How many variables there are."""
        return len(self.elements)

    @cached_property
    def interval_variable(self) -> Ints:
        """The variable of each interval."""
        return ints(np.searchsorted(self.first, self.begin, side="right") - 1)


class Base(Enum):
    """Who runs a vertex on its tile."""

    WORKER = "Vertex"  #: one worker
    ALL_WORKERS = "MultiVertex"  #: all workers of the tile, each a part
    SUPERVISOR = "SupervisorVertex"  #: the supervisor, while the workers wait or help


@dataclass(frozen=True, eq=False)
class FieldRuns:
    """What one field of all vertices of a batch is connected to.

    Run `r` belongs to vertex `vertex[r]` of the batch, and to its edge `edge[r]`. Vector fields have an edge for each
    vertex, lists several; an edge has several runs where a view is made of parts.
    """

    name: str
    reads: bool
    writes: bool
    runs: Runs
    vertex: Ints
    #: bytes of the vertex's state for each edge: a pointer, with or without a length
    pointer_bytes: int = 8
    #: number of the edge of each run, ascending; None: every run is an edge of its own
    edge: Ints | None = None


@dataclass(frozen=True, eq=False)
class Vertices:
    """All vertices of one type in one compute set."""

    type: str
    base: Base
    tile: Ints
    #: cycles of one run: of a worker's vertex on its worker, of the others from start to end
    cycles: Floats
    #: where `cycles` come from, in words that are printed
    source: str
    fields: Sequence[FieldRuns] = ()
    flops: Floats | None = None
    #: bytes of plain members and state vectors; edges are counted apart
    state_bytes: Ints | None = None
    #: bytes of the compiled code, where they are known
    code_bytes: int | None = None

    @property
    def count(self) -> int:
        """How many vertices there are."""
        return len(self.tile)


@dataclass(frozen=True, eq=False)
class ComputeSet:
    """Vertices that run together."""

    name: str
    batches: Sequence[Vertices] = ()


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy between elements of the device: the i-th of `source` to the i-th of `target`."""

    name: str
    source: Runs
    target: Runs
    #: elements are compared with the same element of other replicas (collectives), not of this one
    across_replicas: bool = False


class Peer(Enum):
    """What is at the other end of a transfer that leaves the chip."""

    HOST = "host"
    REMOTE_BUFFER = "remote buffer"


@dataclass(frozen=True, eq=False)
class Transfer:
    """A copy between elements of the device and the host or a remote buffer."""

    name: str
    handle: str
    peer: Peer
    to_device: bool
    elements: Runs


@dataclass(frozen=True)
class BetweenIpus:
    """Data that a library function exchanges between replicas, or between the IPUs of one."""

    #: all_reduce, reduce_scatter, all_gather, all_to_all or broadcast
    kind: str
    #: of each rank, before the exchange
    bytes: int
    ranks: int
    #: whether a rank is a replica, or an IPU of one
    replicas: bool = True


@dataclass(frozen=True, eq=False)
class Library:
    """A library function as a whole: planned for the chip by shapes, not from the places of its operands."""

    name: str
    works: tuple[Work, ...]
    #: tiles that it may use; None: those of one IPU
    tiles: int | None = None
    #: variables that the function made for itself are among the program's; these bytes are not
    bytes_per_tile: int = 0
    #: elements that it reads and writes
    operands: tuple[Runs, ...] = ()
    between: tuple[BetweenIpus, ...] = ()


@dataclass(frozen=True, eq=False)
class PlacedProgram:
    """A whole placed program.

    `programs` are what the engine can run, by number; `functions` are what their calls run.
    """

    name: str
    ipus: int
    tiles_per_ipu: int
    variables: Variables
    compute_sets: Sequence[ComputeSet] = ()
    copies: Sequence[Copy] = ()
    transfers: Sequence[Transfer] = ()
    libraries: Sequence[Library] = ()
    programs: Sequence[Step] = ()
    functions: Mapping[str, Step] = field(default_factory=dict)
    program_names: Sequence[str] = ()
    replicas: int = 1

    @property
    def tiles(self) -> int:
        """Tiles of one replica."""
        return self.ipus * self.tiles_per_ipu
