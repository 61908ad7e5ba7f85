"""What an engine does with a graph and its programs before they are loaded: checks, and everything that is the same for
all replicas and all loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tremula.frontends.poplar.check import programs as program_checks
from tremula.frontends.poplar.check.edges import check_edges
from tremula.frontends.poplar.check.hazards import find_overlaps
from tremula.frontends.poplar.check.mapped import TilesOfAddresses, check_variables, check_vertices
from tremula.frontends.poplar.execute import compute
from tremula.frontends.poplar.execute.arena import Arena, InitialValues, scratch_begin
from tremula.frontends.poplar.execute.compute import Machine, PreparedBatch
from tremula.frontends.poplar.execute.staging import AllEdges, all_edges, dtype_of
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.mapping import put_on_the_only_tile
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.numbering import Numbering, nodes
from tremula.frontends.poplar.rules.placed import place_constants_beside_vertices
from tremula.frontends.poplar.target import TargetKind

#: called with steps done and steps in all
Progress = Callable[[int, int], None]


class Preparation:
    """A graph with the programs of an engine, checked and prepared."""

    def __init__(self, graph: Graph, numbering: Numbering, progress: Progress | None = None) -> None:
        self.graph = graph
        self.numbering = numbering
        memory = graph.memory
        place_constants_beside_vertices(graph)
        used = _compute_sets(numbering)
        if graph.contents.target.kind is TargetKind.CPU:
            put_on_the_only_tile(memory, used)
        check_variables(memory)
        program_checks.check_nesting(numbering)
        program_checks.check_programs(graph, nodes(numbering))
        tiles = TilesOfAddresses(memory)
        begin = scratch_begin(memory)
        end = begin
        self.compute_sets: dict[int, Sequence[PreparedBatch]] = {}
        for number, made in enumerate(used):
            if progress is not None:
                progress(number, len(used) + 1)
            check_vertices(made)
            edges = {name: all_edges(batch) for name, batch in made.batches.items() if batch.count}
            for name, of_batch in edges.items():
                _check_edges(memory, made.batches[name], of_batch)
            overlaps = find_overlaps(memory, made, edges, tiles)
            self.compute_sets[made.number], needed = compute.prepare(memory, made, edges, overlaps, begin)
            end = max(end, needed)
        self._scratch = end - begin
        self._initial = InitialValues(memory.variables)
        if progress is not None:
            progress(len(used) + 1, len(used) + 1)

    @property
    def machine(self) -> Machine:
        """What codelets are told about the chip."""
        target = self.graph.contents.target
        return Machine(target.workers, target.accurate_half)

    def arena(self, replica: int) -> Arena:
        """The memory of a replica as it is when the program is loaded."""
        memory = self.graph.memory
        made = Arena(memory.size, self._scratch)
        self._initial.write(made)
        for number in self.graph.contents.replication_indices:
            variable = memory.variables[number]
            made.words(variable.element_bytes)[variable.address // variable.element_bytes] = replica
        return made


def _check_edges(memory: Memory, batch: VertexBatch, edges: AllEdges) -> None:
    for name, found in edges.items():
        field = batch.codelet.fields[name]
        check_edges(memory, batch, field, found, dtype_of(memory, batch, field, found).itemsize)


def _compute_sets(numbering: Numbering) -> list[ComputeSet]:
    """The compute sets that programs run, each once, in order of their numbers."""
    found = {
        node.program.compute_set.number: node.program.compute_set
        for node in nodes(numbering)
        if isinstance(node.program, p.Execute)
    }
    return [found[number] for number in sorted(found)]
