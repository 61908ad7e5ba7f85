"""Steps of recorded runs.

A step of the original runs one program on all IPUs. The chip model records the steps of each IPU by themselves; steps
of several IPUs that run the same program from the same cycle on are one step here. Steps are in the order in which
they begin. There is one start and one end for all tiles of an IPU.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pva.compute_sets import ComputeSet, Vertex, by_tile
from pva.enums import PROGRAM_TYPES, ProgramType
from pva.programs import Program, Programs
from pva.sequences import Chosen, Items, Numbers
from pva.source import Ints, Source
from pva.tables import Table


@dataclass(frozen=True)
class Range:
    """Least and largest over the tiles; equal, as all tiles of an IPU begin and end together."""

    min: int
    max: int


@dataclass(frozen=True)
class CycleInterval:
    """From when to when, in cycles of the run."""

    cyclesFrom: Range
    cyclesTo: Range


class StepOnIpu:
    """The activity of one IPU in a step. An IPU that does not take part has 0 cycles at the start of the step."""

    __slots__ = ("_row", "_source", "_start")

    def __init__(self, source: Source, row: int, start: int) -> None:
        self._source = source
        self._row = row
        self._start = start

    def _number(self, column: str) -> Any:
        return self._source.values("steps", column)[self._row] if self._row >= 0 else 0

    @property
    def cycles(self) -> int:
        """Duration."""
        return int(self._number("cycles"))

    @property
    def activeCycles(self) -> CycleInterval:
        """When it runs."""
        end = self._start + self.cycles
        return CycleInterval(Range(self._start, self._start), Range(end, end))

    @property
    def allCycles(self) -> CycleInterval:
        """When it runs; the same as `activeCycles`."""
        return self.activeCycles

    @property
    def activeTiles(self) -> int:
        """Tiles that take part."""
        return int(self._number("active_tiles"))

    @property
    def activeTileBalance(self) -> float:
        """Cycles of the mean tile that computes over those of the slowest; 1 where nothing is computed."""
        mean = float(self._number("mean_tile_cycles"))
        return min(1.0, mean / self.cycles) if mean > 0 and self.cycles > 0 else 1.0

    @property
    def tileBalance(self) -> float:
        """The balance, including the tiles that do not compute."""
        if float(self._number("mean_tile_cycles")) <= 0:
            return 1.0
        return self.activeTileBalance * min(1.0, self.activeTiles / int(self._source.target.tiles_per_ipu))

    @property
    def dataIn(self) -> int:
        """The number of bytes that the IPU receives from the host or from another IPU."""
        return int(self._number("bytes_in"))

    @property
    def dataOut(self) -> int:
        """Bytes that leave it."""
        return int(self._number("bytes_out"))

    def __repr__(self) -> str:
        return f"StepOnIpu(cycles={self.cycles}, from {self._start})"


class StepComputeSet:
    """A compute set as it ran in a step."""

    __slots__ = ("_set", "_step")

    def __init__(self, step: ExecutionStep, number: int) -> None:
        self._step = step
        self._set = ComputeSet(step._runs.source, number)

    @property
    def name(self) -> str:
        """The name."""
        return self._set.name

    @property
    def vertices(self) -> Items[Vertex]:
        """The vertices of the compute set."""
        return self._set.vertices

    @property
    def cyclesByTile(self) -> Numbers:
        """Cycles of each tile in the step."""
        return self._step.cyclesByTile

    @property
    def estimatedCyclesByTile(self) -> Numbers:
        """Cycles of each tile in one run, as compiled."""
        return self._set.estimatedCyclesByTile

    def __repr__(self) -> str:
        return f"StepComputeSet({self.name!r})"


class ExecutionStep:
    """One run of a program without children."""

    __slots__ = ("_id", "_runs")

    def __init__(self, runs: Runs, number: int) -> None:
        self._runs = runs
        self._id = number

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self._runs.programs.program(self._runs.number("program", self._id))

    @property
    def type(self) -> ProgramType:
        """The kind of program."""
        return PROGRAM_TYPES[self._runs.number("type", self._id)]

    @property
    def ipus(self) -> Items[StepOnIpu]:
        """The activity of each IPU of the system."""
        source, start = self._runs.source, self._runs.number("start", self._id)
        rows = {self._runs.ipu_of(row): row for row in self._rows}

        def make(ipu: int) -> StepOnIpu:
            return StepOnIpu(source, rows.get(source.modelled_ipu(ipu), -1), start)

        return Items(range(source.ipus), make, source.print_length)

    @property
    def cyclesByTile(self) -> Numbers:
        """Cycles of each tile: the first tile is the slowest, the others that take part have the rest of the mean."""
        source = self._runs.source
        number = self._runs.number("compute_set", self._id)
        if number >= 0 and len(source.set_cycles[number]):
            return ComputeSet(source, number).estimatedCyclesByTile
        tiles = source.target.tiles_per_ipu
        found = np.zeros((source.target.ipus_per_replica, tiles))
        for row in self._rows:
            one = StepOnIpu(source, row, 0)
            mean = float(source.numbers("steps", "mean_tile_cycles")[row]) or float(one.cycles)
            found[self._runs.ipu_of(row)] = by_tile(float(one.cycles), mean, one.activeTiles or tiles, tiles)
        return source.of_replicas(found)

    @property
    def computeSets(self) -> Items[StepComputeSet]:
        """The compute set that ran, if one did."""
        number = self._runs.number("compute_set", self._id)
        return Items(
            range(number, number + 1) if number >= 0 else range(0),
            lambda each: StepComputeSet(self, each),
            self._runs.source.print_length,
        )

    @property
    def microBatch(self) -> int:
        """The micro-batch within the run, -1 for none."""
        return self._runs.number("micro_batch", self._id)

    @property
    def stage(self) -> int:
        """The pipeline stage, -1 for none."""
        return self._runs.number("stage", self._id)

    @property
    def _rows(self) -> list[int]:
        return self._runs.rows_of(self._id)

    def __repr__(self) -> str:
        return f"ExecutionStep({self.type.name}, {self.program.name!r}, from {self._runs.number('start', self._id)})"


class Runs:
    """The steps of all runs: rows of the frame, put together where IPUs run the same program at the same time."""

    def __init__(self, source: Source, programs: Programs) -> None:
        self.source = source
        self.programs = programs

    @functools.cached_property
    def _order(self) -> tuple[Ints, Ints, Ints]:
        """Rows in the order of their start, the first position of each step, and the first step of each run."""
        run, start = self.source.numbers("steps", "run"), self.source.numbers("steps", "start")
        runs = len(self.source.profile.runs)
        if self.source.target.ipus_per_replica == 1:
            order = np.arange(len(run))
            new = np.ones(len(run), dtype=bool)
        else:
            program, kind = self.source.numbers("steps", "program"), self.source.numbers("steps", "type")
            order = np.lexsort((self.source.numbers("steps", "ipu"), program, kind, start, run))
            keys = np.stack([column[order] for column in (run, start, kind, program)])
            new = np.ones(len(run), dtype=bool)
            new[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0) | (keys[3, 1:] < 0)
        firsts = np.flatnonzero(new).astype(np.int64)
        bounds = np.searchsorted(run[order][firsts], np.arange(runs + 1)).astype(np.int64)
        return order.astype(np.int64), firsts, bounds

    @property
    def bounds(self) -> Ints:
        """First step of each run, and the number of steps at the end."""
        return self._order[2]

    @functools.cached_property
    def lead(self) -> Ints:
        """A row of each step, that of its first IPU."""
        return self._order[0][self._order[1]]

    def rows_of(self, number: int) -> list[int]:
        """Rows of a step, one for each IPU that takes part."""
        rows, firsts = self._order_lists
        return rows[firsts[number] : firsts[number + 1]]

    @functools.cached_property
    def _order_lists(self) -> tuple[list[int], list[int]]:
        order, firsts, _ = self._order
        return order.tolist(), [*firsts.tolist(), len(order)]

    def number(self, column: str, step: int) -> int:
        """A value that is the same for all rows of a step, or that of its first IPU."""
        rows, firsts = self._order_lists
        return int(self.source.values("steps", column)[rows[firsts[step]]])

    def ipu_of(self, row: int) -> int:
        """The IPU of a row."""
        return int(self.source.values("steps", "ipu")[row])

    def steps(self, chosen: Chosen | None = None) -> Table[ExecutionStep]:
        """Steps as a list; all of them unless some are chosen."""

        def column(name: str) -> NDArray[Any]:
            return self.source.numbers("steps", name)[self.lead]

        return Table(
            range(len(self._order[1])) if chosen is None else chosen,
            lambda number: ExecutionStep(self, number),
            self.source.print_length,
            {
                "run": lambda: column("run"),
                "type": lambda: column("type"),
                "program": lambda: column("program"),
                "name": self._names,
                "computeSet": lambda: column("compute_set"),
                "op": lambda: column("op_id"),
                "ipu": lambda: column("ipu"),
                "start": lambda: column("start"),
                "cycles": self._longest,
                "meanTileCycles": lambda: column("mean_tile_cycles"),
                "activeTiles": lambda: column("active_tiles"),
                "dataIn": lambda: self._summed("bytes_in"),
                "dataOut": lambda: self._summed("bytes_out"),
                "microBatch": lambda: column("micro_batch"),
                "stage": lambda: column("stage"),
            },
        )

    def _names(self) -> list[str]:
        names = self.source.texts("programs", "name")
        return [
            names[each] if each >= 0 else ""
            for each in self.source.numbers("steps", "program")[self.lead].tolist()
        ]

    def _summed(self, column: str) -> NDArray[Any]:
        order, firsts, _ = self._order
        if not len(firsts):
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.source.numbers("steps", column)[order], firsts)

    def _longest(self) -> NDArray[Any]:
        order, firsts, _ = self._order
        if not len(firsts):
            return np.zeros(0, dtype=np.int64)
        return np.maximum.reduceat(self.source.numbers("steps", "cycles")[order], firsts)
