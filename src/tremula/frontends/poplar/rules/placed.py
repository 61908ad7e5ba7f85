"""A graph with its programs as the placed program that the chip model takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.numbering import Numbering
from tremula.frontends.poplar.rules import elements
from tremula.frontends.poplar.rules.elements import ElementNumbers
from tremula.frontends.poplar.rules.lifetimes import Accesses, kept
from tremula.frontends.poplar.rules.steps import Leaves, tree
from tremula.frontends.poplar.rules.vertices import compute_set
from tremula.program.placed import PlacedProgram


def placed_program(
    graph: Graph, numbering: Numbering, *, name: str = "", program_names: Sequence[str] = ()
) -> PlacedProgram:
    """The chip model's view of a graph and the programs of an engine."""
    contents = graph.contents
    target = contents.target
    place_constants_beside_vertices(graph)
    numbers = ElementNumbers(graph.memory)
    sets = [compute_set(graph, each, numbers) for each in contents.compute_sets]
    leaves = Leaves(numbers)
    tiles = target.tiles // contents.replicas
    programs = [tree(root, leaves, tiles) for root in numbering.roots]
    functions = {str(number): tree(node, leaves, tiles) for number, node in numbering.functions.items()}
    accesses = Accesses(numbers.variables_of, sets, leaves.copies, leaves.transfers, leaves.operands)
    live = kept(programs, functions, accesses) | _of_the_host(graph)
    return PlacedProgram(
        name=name,
        ipus=target.ipus // contents.replicas,
        tiles_per_ipu=target.tiles_per_ipu,
        variables=elements.variables(graph.memory, numbers, np.array(sorted(live), dtype=np.int64)),
        compute_sets=sets,
        copies=leaves.copies,
        transfers=leaves.transfers,
        libraries=leaves.libraries,
        programs=programs,
        functions=functions,
        program_names=program_names,
        replicas=contents.replicas,
    )


def place_constants_beside_vertices(graph: Graph) -> None:
    """Put each constant that was made for a connection on the tile of its vertex."""
    for number, batch, vertex in graph.contents.beside_vertices:
        variable = graph.memory.variables[number]
        tile = batch.tiles[vertex]
        if not variable.mapped and not variable.mapped_columns and tile != mapping.UNMAPPED:
            variable.mapped.append((0, variable.elements, 1, tile))


def _of_the_host(graph: Graph) -> set[int]:
    """Variables that the host reads or writes, or that start with values."""
    contents, memory = graph.contents, graph.memory
    found = {each.number for each in memory.variables if each.initial and not each.constant}
    for view in (*contents.host_reads.values(), *contents.host_writes.values()):
        starts, counts, _ = view.runs()
        found.update(memory.numbers_of(starts[counts > 0]).tolist())
    return found
