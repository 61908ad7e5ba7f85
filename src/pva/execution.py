"""Recorded runs of a program. Their cycles are modelled, not measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pva.enums import ProfilerMode, ProgramType
from pva.execution_steps import ExecutionStep, Runs
from pva.programs import Program, Programs
from pva.sequences import Items
from pva.source import Source
from pva.tables import Table

#: kind of a run that brings weights to the device
_UPLOAD = "upload"
_KINDS = {
    "compute": (ProgramType.OnTileExecute,),
    "exchange": (ProgramType.DoExchange, ProgramType.GlobalExchange),
    "stream": (ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd),
}


@dataclass(frozen=True)
class Microseconds:
    """Start and end of a run on the modelled clock, which begins with the first run."""

    start: float
    end: float


class Run:
    """A recorded run of a program."""

    __slots__ = ("_id", "_runs")

    def __init__(self, runs: Runs, number: int) -> None:
        self._runs = runs
        self._id = number

    @property
    def number(self) -> int:
        """The index of the run in the profile."""
        return self._id

    @property
    def _row(self) -> Any:
        return self._runs.source.profile.runs[self._id]

    @property
    def name(self) -> str:
        """The program that ran."""
        return str(self._row.name)

    @property
    def note(self) -> str:
        """A note, or empty."""
        return str(self._row.note)

    @property
    def cycles(self) -> int:
        """Cycles of the run, the same on every IPU."""
        return int(self._row.cycles)

    @property
    def microseconds(self) -> Microseconds:
        """When it ran."""
        return Microseconds(float(self._row.start_us), float(self._row.end_us))

    @property
    def steps(self) -> Table[ExecutionStep]:
        """The steps of the run, in the order in which they begin."""
        first, last = self._runs.bounds[self._id : self._id + 2].tolist()
        return self._runs.steps(range(first, last))

    @property
    def programs(self) -> Items[Program]:
        """The programs that its steps ran, each once, in the order of the tree."""
        rows = self._runs.lead[slice(*self._runs.bounds[self._id : self._id + 2].tolist())]
        ran = np.unique(self._runs.source.numbers("steps", "program")[rows])
        return self._runs.programs.items(ran[ran >= 0])

    def __repr__(self) -> str:
        return f"Run({self.name!r}, cycles={self.cycles}, steps={len(self.steps)})"


class TotalCycles:
    """Cycles of all runs; the parts are sums over IPUs divided by their number."""

    def __init__(self, execution: ExecutionReport) -> None:
        self._execution = execution

    @property
    def total(self) -> int:
        """From the start to the end of each run."""
        return sum(run.cycles for run in self._execution.runs)

    def _share(self, kinds: tuple[ProgramType, ...]) -> float:
        source = self._execution.source
        ours = np.isin(source.numbers("steps", "type"), [int(kind) for kind in kinds])
        ours &= np.isin(source.numbers("steps", "run"), [run.number for run in self._execution.runs])
        return float(source.numbers("steps", "cycles")[ours].sum()) / int(source.target.ipus_per_replica)

    @property
    def compute(self) -> float:
        """In which an IPU computes."""
        return self._share(_KINDS["compute"])

    @property
    def exchange(self) -> float:
        """In which an IPU exchanges data between tiles or with other IPUs."""
        return self._share(_KINDS["exchange"])

    @property
    def stream(self) -> float:
        """In which an IPU exchanges data with the host."""
        return self._share(_KINDS["stream"])

    @property
    def sync(self) -> float:
        """The rest: an IPU waits."""
        return self.total - self.compute - self.exchange - self.stream

    def __repr__(self) -> str:
        return f"TotalCycles(total={self.total})"


class Block:
    """A recorded part of a program, as it ran once on a tile."""

    __slots__ = ("_row", "_runs", "tile")

    def __init__(self, runs: Runs, row: int, tile: int) -> None:
        self._runs = runs
        self._row = row
        self.tile = tile

    def _number(self, column: str) -> int:
        return int(self._runs.source.values("blocks", column)[self._row])

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self._runs.programs.program(self._number("program"))

    @property
    def cyclesFrom(self) -> int:
        """When it began, in cycles from the start of the first run."""
        return self._number("start")

    @property
    def cyclesTo(self) -> int:
        """When it ended."""
        return self._number("end")

    @property
    def isStreamCopy(self) -> bool:
        """Whether it is a part of a transfer with the host."""
        return self._number("kind") == 1

    @property
    def isCommon(self) -> bool:
        """Whether the program was selected by name, as a block or as a program."""
        return not self.isStreamCopy

    @property
    def isOverflow(self) -> bool:
        """Never: the buffer of the chip model has room for everything."""
        return False

    @property
    def isBlockFlush(self) -> bool:
        """Always false: there is no buffer to flush."""
        return False

    def __repr__(self) -> str:
        return f"Block({self.program.name!r}, {self.cyclesFrom} to {self.cyclesTo}, tile {self.tile})"


class ExecutionReport:
    """Recorded runs. Their cycles are modelled, not measured."""

    def __init__(self, source: Source, programs: Programs) -> None:
        self.source = source
        self._runs = Runs(source, programs)

    @property
    def runs(self) -> Items[Run]:
        """The runs of the program itself."""
        return self._listed(upload=False)

    @property
    def uploads(self) -> Items[Run]:
        """The runs that bring weights to the device; not among `runs`, as nothing of the program is in them."""
        return self._listed(upload=True)

    def _listed(self, *, upload: bool) -> Items[Run]:
        rows = self._runs.source.profile.runs
        chosen = np.asarray([row.id for row in rows if (row.kind == _UPLOAD) is upload], dtype=np.int64)
        return Items(chosen, lambda each: Run(self._runs, each), self._runs.source.print_length)

    @property
    def steps(self) -> Table[ExecutionStep]:
        """The steps of all `runs`."""
        bounds = self._runs.bounds
        spans = [np.arange(bounds[run.number], bounds[run.number + 1]) for run in self.runs]
        return self._runs.steps(np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64))

    @property
    def totalCycles(self) -> TotalCycles:
        """Cycles of all runs."""
        return TotalCycles(self)

    @property
    def profilerMode(self) -> ProfilerMode:
        """The source of cycles: a model, or none if no run is recorded."""
        return ProfilerMode.IPU_MODEL if self.runs else ProfilerMode.NONE

    def blocks(self, tile: int) -> Items[Block]:
        """Blocks of lightweight profiling on a tile, in the order in which they begin.

        Named blocks are on the first tile of each IPU that takes part, where the original records them; stream copies
        are on every tile. Programs that place no vertices themselves have no blocks.
        """
        source = self.source
        if not 0 <= tile < source.tiles:
            raise IndexError(f"there is no tile {tile}: there are {source.tiles:,}")
        ipu, place = divmod(tile, source.target.tiles_per_ipu)
        mine = source.numbers("blocks", "ipu") == source.modelled_ipu(ipu)
        rows = np.flatnonzero(mine & ((source.numbers("blocks", "kind") == 1) | (place == 0)))
        return Items(rows, lambda row: Block(self._runs, row, tile), source.print_length)

    def __repr__(self) -> str:
        return f"ExecutionReport(runs={self.runs})"
