"""The chip model of an engine's programs: cycles of leaves, what does not fit, summaries and profiles.

Nothing is computed before somebody asks. How each figure is made, and how wrong it may be, is in
docs/poplar-estimates.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from tremula.frontends.poplar.estimate import memory_text, summary
from tremula.frontends.poplar.estimate.hardware import hardware
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.numbering import Numbering
from tremula.frontends.poplar.rules.placed import placed_program
from tremula.placed.estimate import PlacedEstimate
from tremula.recording.placed_blocks import BlockFilter
from tremula.recording.placed_record import PlacedRun, write_placed_profile

PROFILE_NAME = "profile.pop"


class ChipModel:
    """What an IPU would do with the programs of an engine."""

    def __init__(
        self,
        graph: Graph,
        numbering: Numbering,
        *,
        name: str = "",
        program_names: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._graph = graph
        self._numbering = numbering
        self._name = name
        self._program_names = tuple(program_names)
        self._options = dict(options or {})

    @functools.cached_property
    def estimate(self) -> PlacedEstimate:
        """Time and memory of one replica."""
        contents = self._graph.contents
        program = placed_program(
            self._graph, self._numbering, name=self._name, program_names=self._program_names
        )
        return PlacedEstimate(program, hardware(contents.target, contents.replicas))

    def leaf_cycles(self) -> Mapping[int, float]:
        """Modelled cycles of one execution of each leaf, exchange and sync included.

        Copies that run together are done by the first of them; the others take no time of their own.
        """
        return {node: leaf.cycles for node, leaf in self.estimate.leaves.items()}

    def memory_problem(self) -> str | None:
        """What does not fit, with tiles, bytes and the largest variables; None if every tile has room."""
        return memory_text.problem(self.estimate)

    def summary(self, runs: Sequence[ProgramRun], options: Mapping[str, str] | None = None) -> str:
        """The text of printProfileSummary."""
        return summary.text(self.estimate, self._graph.contents.target, runs, dict(options or {}))

    def write_profile(self, directory: Path | str, runs: Sequence[ProgramRun], *, execution: bool) -> Path:
        """Write a profile of the graph, and with `execution` of the runs, into a folder."""
        options = self._options
        blocks = BlockFilter(
            options.get("profiler.blocks.filter", ""),
            options.get("profiler.programs.filter", ""),
            options.get("debug.instrumentExternalExchange", "").lower() in ("true", "1"),
        )
        return write_placed_profile(
            self.estimate,
            Path(directory) / PROFILE_NAME,
            [PlacedRun(run.program, run.name, run.executions) for run in runs] if execution else (),
            options=options,
            execution=execution,
            blocks=blocks,
        )
