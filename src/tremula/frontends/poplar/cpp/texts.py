"""Graphs and profiles as texts and plain values, for programs that write them to files.

The formats are Graphviz for pictures and JSON for the rest. They are ours: names in profiles are those that older
programs read, as far as the chip model has the figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.cpp.requests import request
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet, VertexBatch
from tremula.frontends.poplar.program.programs import Execute, Program


def _executed(graph: Graph, programs: Sequence[Program]) -> list[ComputeSet]:
    """The compute sets that programs run, in order; without programs all of the graph."""
    if not programs:
        return list(graph.contents.compute_sets)
    found: dict[int, ComputeSet] = {}
    for program in programs:
        for each in program.walk():
            if isinstance(each, Execute):
                found.setdefault(each.compute_set.number, each.compute_set)
    return list(found.values())


def _quoted(text: str) -> str:
    return json.dumps(text)


def _variables_of(graph: Graph, batch: VertexBatch, field: str) -> tuple[list[int], list[int]]:
    """Vertex and variable of each connection of a field."""
    connections = batch.connections[field]
    offset, count = np.array(connections.offset), np.array(connections.count)
    first = np.where(offset >= 0, offset, 0)
    for place in np.flatnonzero(offset < 0).tolist():
        first[place] = int(connections.views[int(count[place])].runs()[0][0])
    return list(connections.vertex), graph.memory.numbers_of(first).tolist()


def _edges(graph: Graph, batch: VertexBatch) -> Iterator[tuple[int, str, int, bool]]:
    """Vertex, field, variable, and whether the vertex writes it."""
    for name in batch.connections:
        writes = batch.codelet.fields[name].direction.writes
        for vertex, variable in zip(*_variables_of(graph, batch, name), strict=True):
            yield vertex, name, variable, writes


@request("vertex graph")
def vertex_graph(session: Session, graph: Graph, programs: list[Program]) -> str:
    """Vertices and the variables that they are connected to, for Graphviz."""
    lines = ["digraph vertices {"]
    used: set[int] = set()
    for each in _executed(graph, programs):
        lines.append(f"  subgraph cluster_{each.number} {{ label={_quoted(each.name)};")
        batches = list(each.batches.values())
        for number, batch in enumerate(batches):
            label = _quoted(batch.codelet.name)
            lines += [
                f"    v{each.number}_{number}_{vertex} [shape=box, label={label}];"
                for vertex in range(batch.count)
            ]
        lines.append("  }")
        for number, batch in enumerate(batches):
            for vertex, field, variable, writes in _edges(graph, batch):
                used.add(variable)
                ends = (f"v{each.number}_{number}_{vertex}", f"t{variable}")
                begin, end = ends if writes else ends[::-1]
                lines.append(f"  {begin} -> {end} [label={_quoted(field)}];")
    variables = graph.memory.variables
    lines += [
        f"  t{each} [label={_quoted(variables[each].name or f'variable {each}')}];" for each in sorted(used)
    ]
    return "\n".join([*lines, "}"]) + "\n"


@request("compute graph")
def compute_graph(session: Session, graph: Graph, programs: list[Program]) -> str:
    """Compute sets and the variables that they read and write, for Graphviz."""
    lines = ["digraph compute_sets {"]
    used: set[int] = set()
    for each in _executed(graph, programs):
        lines.append(f"  c{each.number} [shape=box, label={_quoted(each.name)}];")
        edges = {
            (variable, writes)
            for batch in each.batches.values()
            for _, _, variable, writes in _edges(graph, batch)
        }
        for variable, writes in sorted(edges):
            used.add(variable)
            lines.append(
                f"  c{each.number} -> t{variable};" if writes else f"  t{variable} -> c{each.number};"
            )
    variables = graph.memory.variables
    lines += [
        f"  t{each} [label={_quoted(variables[each].name or f'variable {each}')}];" for each in sorted(used)
    ]
    return "\n".join([*lines, "}"]) + "\n"


@request("graph as text")
def graph_as_text(session: Session, graph: Graph) -> str:
    """Variables and compute sets as JSON."""
    variables = [
        {
            "name": each.name,
            "type": each.type.label,
            "shape": list(each.shape),
            "constant": each.constant,
            "source": each.source,
        }
        for each in graph.memory.variables
    ]
    sets = [
        {
            "name": each.name,
            "vertices": {name: batch.count for name, batch in each.batches.items()},
            "source": each.source,
        }
        for each in graph.contents.compute_sets
    ]
    return json.dumps({"format": "tremula graph 1", "variables": variables, "computeSets": sets}) + "\n"


@request("graph profile")
def graph_profile(session: Session, engine: Any) -> dict[str, Any]:
    """What the chip model says of target, graph and memory."""
    report = engine.getReport(False)
    target, graph = report.compilation.target, report.compilation.graph
    tiles = report.compilation.tiles
    return {
        "target": {
            "type": target.type.name,
            "numIPUs": target.numIPUs,
            "tilesPerIPU": target.tilesPerIpu,
            "totalTiles": target.numTiles,
            "memoryBytesPerTile": target.bytesPerTile,
            "totalMemory": target.totalMemory,
            "clockFrequency": target.clockFrequency,
        },
        "graph": {
            "numComputeSets": graph.numComputeSets,
            "numEdges": graph.numEdges,
            "numVars": graph.numVars,
            "numVertices": graph.numVertices,
        },
        "memory": {
            "byTile": {
                "total": [each.memory.total.excludingGaps for each in tiles],
                "totalIncludingGaps": [each.memory.total.includingGaps for each in tiles],
            }
        },
        "modelled": True,
    }


@request("execution profile")
def execution_profile(session: Session, engine: Any) -> dict[str, Any]:
    """What the chip model says of the runs so far."""
    execution = engine.getReport(True).execution
    return {
        "profilerMode": execution.profilerMode.name,
        "cycles": execution.totalCycles.total,
        "runs": [{"name": each.name, "cycles": each.cycles} for each in execution.runs],
        "modelled": True,
    }
