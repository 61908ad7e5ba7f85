"""What the chip model found about a program before it runs."""

from __future__ import annotations

import functools
from typing import Any

from pva.compute_sets import ComputeSet, compute_sets
from pva.debug_contexts import DebugContext, contexts
from pva.liveness import Liveness, LivenessProgramStep
from pva.lowered_variables import LoweredVariables
from pva.memory import IPU, Tile, ipus, tiles
from pva.not_modelled import NotModelled
from pva.programs import Program, Programs
from pva.sequences import Items
from pva.source import Source
from pva.steps_of_liveness import LivenessIndex
from pva.tables import Table
from pva.target import Target
from pva.variables import Variable, Variables


class Graph:
    """Counts of the graph of one replica."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def numComputeSets(self) -> int:
        """Compute sets."""
        return self._source.rows("compute_sets")

    @property
    def numVertices(self) -> int:
        """Vertices of all compute sets."""
        return int(self._source.numbers("compute_sets", "vertices").sum())

    @property
    def numVars(self) -> int:
        """The number of variables. A variable on several IPUs counts once for each, except in programs that
        place their own data."""
        placed = "edges" in self._source.counts
        return self._source.counts["variables"] if placed else self._source.rows("variables")

    @property
    def numEdges(self) -> int:
        """Edges between variables and vertices, for programs that place them. In others nobody has put any."""
        if "edges" not in self._source.counts:
            raise NotModelled("graph.numEdges")
        return self._source.counts["edges"]

    def __repr__(self) -> str:
        return f"Graph(numComputeSets={self.numComputeSets}, numVertices={self.numVertices}, numVars={self.numVars})"


class CompilationReport:
    """Target, memory, programs and variables."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @functools.cached_property
    def index(self) -> LivenessIndex:
        """Steps of the program."""
        return LivenessIndex(self.source)

    @functools.cached_property
    def _variables(self) -> Variables:
        return Variables(self.source)

    @functools.cached_property
    def loweredVariables(self) -> LoweredVariables:
        """Parts of tensors on tiles."""
        return LoweredVariables(self._variables, lambda: self.index)

    @functools.cached_property
    def tree(self) -> Programs:
        """The program tree."""
        return Programs(self.source, self.loweredVariables)

    @functools.cached_property
    def _liveness(self) -> Liveness:
        return Liveness(self.tree, self._variables, self.index)

    @property
    def target(self) -> Target:
        """The target that the program was modelled for."""
        return Target(self.source)

    @property
    def graph(self) -> Graph:
        """Counts."""
        return Graph(self.source)

    @property
    def tiles(self) -> Table[Tile]:
        """All tiles of the system; replicas are equal."""
        return tiles(self.source)

    @property
    def ipus(self) -> Items[IPU]:
        """All IPUs of the system."""
        return ipus(self.source)

    @property
    def programs(self) -> Table[Program]:
        """All programs, parents before their children; the first is the root."""
        return self.tree.table()

    @property
    def computeSets(self) -> Table[ComputeSet]:
        """All compute sets."""
        return compute_sets(self.source)

    @property
    def livenessProgramSteps(self) -> Table[LivenessProgramStep]:
        """The steps of the program with the variables that are live in them. Sizes are those of one replica."""
        return self._liveness.table()

    @property
    def alwaysLiveVariables(self) -> Table[Variable]:
        """The variables that are always live; sizes are of one replica."""
        return self._variables.table(self._variables.always_live)

    def alwaysLiveVariablesForTile(self, tile: int) -> list[Variable]:
        """The variables that are always live on a tile; sizes are of that tile."""
        return self._variables.on_tile(tile, always_live=True)

    @property
    def variables(self) -> Table[Variable]:
        """All variables, including those that are not always live."""
        return self._variables.table(self._variables.shown)

    @property
    def debugContexts(self) -> Items[DebugContext]:
        """Modules and ops of the user's program."""
        return contexts(self.source, range(self.source.rows("contexts")))

    @property
    def application(self) -> dict[str, Any]:
        """The contents of framework.json and app.json beside the profile."""
        return self.source.profile.application

    def __repr__(self) -> str:
        return f"CompilationReport({self.target})"
