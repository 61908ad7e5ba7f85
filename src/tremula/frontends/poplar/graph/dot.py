"""Graphs as text for Graphviz: vertices with the variables that they are connected to, and the order of programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Direction
from tremula.frontends.poplar.graph.edges import edges_of
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.numbering import Node, number


def vertex_graph(graph: Graph, programs: Sequence[p.Program]) -> Iterator[str]:
    """Lines of a graph of the vertices that programs execute, and of their variables."""
    yield "digraph vertices {"
    memory = graph.memory
    for variable in memory.variables:
        label = _quoted(
            f"{variable.name or f'variable {variable.number}'} {variable.type}{list(variable.shape)}"
        )
        yield f"  var{variable.number} [shape=box, label={label}];"
    for made in _compute_sets(programs):
        for place, (name, batch) in enumerate(made.batches.items()):
            tiles = batch.tiles
            for vertex in range(batch.count):
                label = _quoted(f"{name} on tile {tiles[vertex]}, {made.name}")
                yield f"  v{made.number}_{place}_{vertex} [label={label}];"
            for field in batch.codelet.fields.values():
                if field.direction is Direction.NONE:
                    continue
                edges = edges_of(batch, field)
                owners = memory.numbers_of(edges.runs.offset)
                pairs = np.unique(np.stack([edges.vertex[edges.run_edges], owners], axis=1), axis=0)
                for vertex, variable_number in pairs.tolist():
                    both = (f"v{made.number}_{place}_{vertex}", f"var{variable_number}")
                    for ends in _arrows(field.direction, both):
                        yield f"  {ends[0]} -> {ends[1]} [label={_quoted(field.name)}];"
    yield "}"


def _arrows(direction: Direction, both: tuple[str, str]) -> list[tuple[str, str]]:
    vertex, variable = both
    found = [(variable, vertex)] if direction.reads else []
    return [*found, (vertex, variable)] if direction.writes else found


def compute_graph(programs: Sequence[p.Program]) -> Iterator[str]:
    """Lines of a graph of the steps of programs, in the order in which they run."""
    yield "digraph programs {"
    numbering = number(programs)
    for top in (*numbering.roots, *numbering.functions.values()):
        before: Node | None = None
        waiting = [top]
        while waiting:
            node = waiting.pop()
            kind = type(node.program).__name__.rstrip("_")
            yield f"  n{node.id} [shape=box, label={_quoted(f'{kind} {node.program.name}'.strip())}];"
            if before is not None:
                yield f"  n{before.id} -> n{node.id};"
            before = node
            waiting.extend(reversed(node.children))
            if isinstance(node.program, p.Call):
                yield f"  n{node.id} -> n{numbering.functions[node.program.function.number].id} [style=dashed];"
    yield "}"


def _compute_sets(programs: Sequence[p.Program]) -> list[ComputeSet]:
    found = {
        each.compute_set.number: each.compute_set
        for program in programs
        for each in program.walk()
        if isinstance(each, p.Execute)
    }
    return [found[place] for place in sorted(found)]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
