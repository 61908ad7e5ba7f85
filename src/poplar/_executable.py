"""`Executable`: a graph with its programs, to be saved, and loaded by an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.execute.preparation import Preparation
from tremula.frontends.poplar.execute.stored.files import Stored, read_executable, write_executable
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.target import TargetFacts

from ._graph import Graph
from ._snake import with_snake_case
from ._target import Target


def _graph(facts: TargetFacts, replicas: int) -> Graph:
    return Graph(Target(facts), replicas)


@with_snake_case
class Executable:
    """A graph and programs that were compiled together."""

    def __init__(self, stored: Stored, prepared: Preparation | None = None) -> None:
        self._stored = stored
        self._prepared = prepared

    def serialize(self, out: BinaryIO | str | os.PathLike[str]) -> None:
        """Write the executable to a file or a byte stream. It contains C++ codelets as source code."""
        write_executable(self._stored, out)

    @staticmethod
    def deserialize(source: BinaryIO | str | os.PathLike[str], codelets: Sequence[type] = ()) -> Executable:
        """Read an executable from a file or a byte stream.

        Nothing in the file is executed when it is read. `codelets` are the Python classes of its vertices; those
        that the calling program defines are found automatically. C++ codelets in it are compiled when an engine is
        made: that runs their author's code.
        """
        return Executable(read_executable(source, codelets, _graph))

    def engine(
        self,
        options: Mapping[str, Any],
        progress: Callable[[int, int], None] | None = None,
        name: str = "",
    ) -> ProgramEngine:
        """An engine for it."""
        stored = self._stored
        return ProgramEngine(
            stored.graph,
            stored.programs,
            {**stored.options, **options},
            program_names=stored.program_names,
            progress=progress,
            name=name or stored.name,
            prepared=self._prepared,
        )


def compileGraph(
    graph: Graph,
    progs: Program | Sequence[Program],
    opt: Mapping[str, Any] | None = None,
    progressCallback: Callable[[int, int], None] | None = None,
    debugName: str = "",
) -> Executable:
    """Check programs and compile them to an executable."""
    programs = [progs] if isinstance(progs, Program) else list(progs)
    options = dict(opt or {})
    engine = ProgramEngine(graph, programs, options, progress=progressCallback, name=debugName)
    return Executable(Stored(graph, programs, options, (), debugName), engine.prepared)
