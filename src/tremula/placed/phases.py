"""What a leaf of the control tree is on the chip: phases, one after the other, each as long as its slowest tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from tremula.program.placed import Floats, Ints


class PhaseKind(Enum):
    """What happens in a phase."""

    SYNC = "sync"  #: the tiles of an IPU wait for each other
    GLOBAL_SYNC = "sync of IPUs"  #: all IPUs do, or the host
    EXCHANGE = "exchange"  #: tiles of an IPU send to each other
    GLOBAL_EXCHANGE = "exchange between IPUs"
    COMPUTE = "compute"
    HOST = "exchange with the host"  #: or with a remote buffer


_NO_TILES, _NO_CYCLES = np.zeros(0, dtype=np.int64), np.zeros(0)


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase."""

    kind: PhaseKind
    name: str
    #: from its start to the end of the slowest tile
    cycles: float
    #: tiles that take part, and how long each does
    tiles: Ints = field(default_factory=lambda: _NO_TILES)
    on_tiles: Floats = field(default_factory=lambda: _NO_CYCLES)
    #: in a compute phase, cycles without idle threads
    busy: Floats = field(default_factory=lambda: _NO_CYCLES)
    #: in a compute phase, its compute set among those of the model; -1: none
    compute_set: int = -1
    bytes_in: int = 0  #: that come to the IPUs from outside
    bytes_out: int = 0
    flops: float = 0.0
    code_bytes: int = 0  #: of exchange code on all tiles

    @property
    def summed(self) -> float:
        """Cycles of all tiles that take part."""
        return float(self.on_tiles.sum())


@dataclass(frozen=True)
class VertexGroup:
    """The vertices of one type in a compute set."""

    count: int
    tiles: int  #: that have some
    cycles: float  #: of all of them
    source: str  #: where the cycles come from, in words


@dataclass(frozen=True, eq=False)
class ModelledSet:
    """A compute set on the chip: one of the program's, or one that the model adds for copies and library functions."""

    name: str
    vertices: Mapping[str, VertexGroup]  #: by type
    tiles: Ints
    cycles: Floats  #: with idle threads, of each tile
    busy: Floats  #: without
    flops: float = 0.0

    @property
    def count(self) -> int:
        """Vertices of all types."""
        return sum(each.count for each in self.vertices.values())

    @property
    def slowest(self) -> float:
        """Cycles of the slowest tile."""
        return float(self.cycles.max()) if len(self.cycles) else 0.0


@dataclass(frozen=True, eq=False)
class Leaf:
    """The phases of a leaf, and what it needs on tiles while it runs."""

    id: int
    name: str
    phases: tuple[Phase, ...] = ()
    #: bytes of buffers on each tile while it runs
    buffers: Ints = field(default_factory=lambda: _NO_TILES)
    #: bytes of exchange code on each tile
    exchange_code: Ints = field(default_factory=lambda: _NO_TILES)
    #: leaf that does this one's work together with its own; -1: none
    done_by: int = -1

    @property
    def cycles(self) -> float:
        """Cycles of one execution."""
        return sum(phase.cycles for phase in self.phases)
