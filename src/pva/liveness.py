"""The variables alive in each step of the program, without those that are always live. Sizes are of one replica."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from pva.programs import Program, Programs
from pva.sequences import Items
from pva.source import Ints, Source
from pva.steps_of_liveness import LivenessIndex
from pva.tables import Table
from pva.variables import Variable, Variables

#: bytes of variables that the profile does not list
_OTHERS = "(others)"


class LiveMemory:
    """The live bytes of a step, and their variables, which are read when they are first used."""

    __slots__ = ("_listed", "_source", "bytes")

    def __init__(self, size: int, listed: Callable[[], list[Variable]], source: Source) -> None:
        self.bytes = size
        self._listed = listed
        self._source = source

    @property
    def variables(self) -> Items[Variable]:
        """The variables, with their sizes there."""
        found = self._listed()
        return Items(range(len(found)), found.__getitem__, self._source.print_length)

    def __repr__(self) -> str:
        return f"LiveMemory(bytes={self.bytes})"


class LivenessProgramStep:
    """A step of the program and the memory that is alive in it only for a while."""

    __slots__ = ("_id", "_liveness")

    def __init__(self, liveness: Liveness, number: int) -> None:
        self._liveness = liveness
        self._id = number

    @property
    def program(self) -> Program:
        """The program that runs in this step."""
        return self._liveness.programs.program(int(self._liveness.index.program[self._id]))

    @property
    def notAlwaysLiveMemory(self) -> LiveMemory:
        """On all IPUs of a replica."""
        liveness, at = self._liveness, self._file_step
        return LiveMemory(liveness.totals[at], lambda: liveness.alive(at, liveness.ipus), liveness.source)

    def notAlwaysLiveMemoryForIpu(self, ipu: int) -> LiveMemory:
        """On one IPU of the system."""
        liveness, at = self._liveness, self._file_step
        one = liveness.ipu(ipu)
        return LiveMemory(liveness.by_ipu[one][at], lambda: liveness.alive(at, [one]), liveness.source)

    def notAlwaysLiveMemoryForTile(self, tile: int) -> LiveMemory:
        """On one tile of the system."""
        return self._liveness.on_tile(self._file_step, tile)

    @property
    def _file_step(self) -> int:
        return self._liveness.file_steps[self._id]

    def __repr__(self) -> str:
        return (
            f"LivenessProgramStep({self._id}, {self.program.name!r}, {self.notAlwaysLiveMemory.bytes} bytes)"
        )


class Liveness:
    """Live bytes over the steps, by IPU and by tile."""

    def __init__(self, programs: Programs, variables: Variables, index: LivenessIndex) -> None:
        self.source = programs.source
        self.programs = programs
        self.variables = variables
        self.index = index
        self.ipus = range(self.source.target.ipus_per_replica)
        self._tiles: dict[int, tuple[list[int], Ints, Ints]] = {}

    def table(self) -> Table[LivenessProgramStep]:
        """All steps."""
        return Table(
            range(len(self.index)),
            lambda number: LivenessProgramStep(self, number),
            self.source.print_length,
            {
                "program": lambda: self.index.program,
                "notAlwaysLiveBytes": lambda: np.asarray(self.totals, dtype=np.int64)[self.index.file_step],
            },
        )

    @functools.cached_property
    def by_ipu(self) -> list[list[int]]:
        """Live bytes of each IPU in each program step of the file."""
        steps = len(self.index.bounds) - 1
        found = []
        for ipu in self.ipus:
            live, temporary = self.source.profile.live_bytes(ipu)
            sizes = live + temporary if len(live) == steps else np.zeros(steps, dtype=np.int64)
            found.append(sizes.tolist())
        return found

    @functools.cached_property
    def file_steps(self) -> list[int]:
        """The program step of the file that each step belongs to."""
        found: list[int] = self.index.file_step.tolist()
        return found

    @functools.cached_property
    def totals(self) -> list[int]:
        """Live bytes of the replica in each program step of the file."""
        return [sum(sizes) for sizes in zip(*self.by_ipu, strict=True)]

    def ipu(self, ipu: int) -> int:
        """The modelled IPU for one of the system."""
        if not 0 <= ipu < self.source.ipus:
            raise IndexError(f"there is no IPU {ipu}: there are {self.source.ipus:,}")
        return self.source.modelled_ipu(ipu)

    def alive(self, step: int, ipus: Iterable[int]) -> list[Variable]:
        """Variables that are alive in a program step of the file; what the profile does not list is one more."""
        found: list[Variable] = []
        for ipu in ipus:
            rows = self.source.profile.alive_at(ipu, step).tolist()
            listed = [self.variables.variable(row) for row in rows]
            rest = self.by_ipu[ipu][step] - sum(each.size for each in listed)
            found += listed if rest <= 0 else [*listed, Variable(self.variables, -1, _OTHERS, rest)]
        return found

    def on_tile(self, step: int, tile: int) -> LiveMemory:
        """Live bytes of one tile in a program step of the file."""
        rows, sizes, totals = self._tile(tile)
        first, last = self.variables.column("first_step"), self.variables.column("last_step")
        listed = [
            Variable(self.variables, row, self.variables.name(row), size)
            for row, size in zip(rows, sizes.tolist(), strict=True)
            if first[row] <= step <= last[row]
        ]
        return LiveMemory(int(totals[step]), lambda: listed, self.source)

    def _tile(self, tile: int) -> tuple[list[int], Ints, Ints]:
        """Rows of what comes and goes on a tile, their sizes there, and the bytes of each program step."""
        if not 0 <= tile < self.source.tiles:
            raise IndexError(f"there is no tile {tile}: there are {self.source.tiles:,}")
        per_replica = self.source.target.tiles_per_ipu * self.source.target.ipus_per_replica
        key = tile % per_replica
        if key not in self._tiles:
            listed = self.variables.on_tile(tile, always_live=False)
            rows = [each._id for each in listed]
            sizes = np.asarray([each.size for each in listed], dtype=np.int64)
            steps = len(self.index.bounds) - 1
            changes = np.zeros(steps + 1, dtype=np.int64)
            first, last = self.variables.column("first_step")[rows], self.variables.column("last_step")[rows]
            np.add.at(changes, np.maximum(first, 0), sizes)
            np.add.at(changes, np.minimum(last, steps - 1) + 1, -sizes)
            self._tiles[key] = rows, sizes, np.cumsum(changes)[:steps]
        return self._tiles[key]
