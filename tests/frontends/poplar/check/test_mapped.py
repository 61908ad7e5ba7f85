"""What lies on no tile is an error that names the variable and its line, or the vertex."""

from __future__ import annotations

import pytest

from tremula.frontends.poplar.errors import InvalidTileMapping
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import Execute, Sequence_
from tremula.frontends.poplar.types import FLOAT

from ..conftest import placed


def test_a_variable_without_tiles_is_named_with_its_line(graph: Graph) -> None:
    made = graph.add_variable(FLOAT, (2, 5), "lost")
    graph.set_tile_mapping(made[0], 1)
    graph.set_tile_mapping(made[1][2:4], 1)
    with pytest.raises(
        InvalidTileMapping, match=r"elements 5 to 6, and 1 more of the 10 of variable 'lost'"
    ) as problem:
        ProgramEngine(graph, [Sequence_()])
    assert "test_mapped.py:" in str(problem.value)


def test_pieces_that_cover_a_variable_are_enough(graph: Graph) -> None:
    made = graph.add_variable(FLOAT, (9,), "pieces")
    for step in range(3):
        graph.set_tile_mapping(made.sub_sample(3, 0) if not step else made[step::3], step)
    ProgramEngine(graph, [Sequence_()])


def test_a_vertex_without_a_tile_is_named(graph: Graph) -> None:
    x, y = placed(graph, FLOAT, (3,)), placed(graph, FLOAT, (3,))
    made = graph.add_compute_set("loose")
    graph.add_vertex(made, "Scale", {"x": x, "y": y})
    with pytest.raises(InvalidTileMapping, match=r"vertex 0 of type Scale .* in compute set 'loose'"):
        ProgramEngine(graph, [Execute(made)])


def test_constants_of_connections_lie_with_their_vertices(graph: Graph) -> None:
    y = placed(graph, FLOAT, (3,))
    made = graph.add_compute_set("constant")
    vertex = graph.add_vertex(made, "Scale", {"x": [1.0, 2.0, 3.0], "y": y})
    graph.set_vertex_tile(vertex, 3)
    ProgramEngine(graph, [Execute(made)])
