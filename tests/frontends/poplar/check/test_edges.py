"""Edges that came as columns are checked: sizes, types and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.poplar.codelets.codelet import Direction, Field, Kind
from tremula.frontends.poplar.errors import GraphConnectionError
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import Execute
from tremula.frontends.poplar.types import FLOAT, UNSIGNED_CHAR

from ..conftest import LoopCodelet, placed


@pytest.mark.parametrize(
    ("offset", "count", "step", "text"),
    [
        (0, 1, 4, ""),
        (0, 2, 4, "holds one element"),
        (0, 0, 4, "holds one element"),
        (2, 1, 4, "of another size than float has"),
        (48, 1, 4, "of another size than float has"),
        (4096, 1, 4, "outside the graph's variables"),
    ],
)
def test_columns_of_edges_are_checked(graph: Graph, offset: int, count: int, step: int, text: str) -> None:
    field = Field("x", Kind.SCALAR, Direction.INPUT, FLOAT)
    graph.contents.codelets["One"] = LoopCodelet("One", [field], lambda x: None)
    placed(graph, FLOAT, (12,), "floats")
    placed(graph, UNSIGNED_CHAR, (12,), "chars")
    made = graph.add_compute_set()
    batch = graph.batch(made, "One")
    batch.tiles.extend([0, 1])
    columns = [[0, 1], [0, 0], [0, offset], [1, count], [4, step]]
    batch.connections_of("x").extend(*(np.array(each) for each in columns))
    if not text:
        ProgramEngine(graph, [Execute(made)])
        return
    with pytest.raises(GraphConnectionError, match=f"vertex 1 of type One on tile 1.*: field 'x' .*{text}"):
        ProgramEngine(graph, [Execute(made)])


def test_vertices_do_not_write_constants(graph: Graph) -> None:
    constant = graph.add_constant(FLOAT, [3], 1.0, "one")
    graph.set_tile_mapping(constant, 0)
    made = graph.add_compute_set()
    graph.set_vertex_tile(graph.add_vertex(made, "Scale", {"x": constant, "y": constant}), 2)
    with pytest.raises(
        GraphConnectionError, match=r"vertex 0 of type Scale on tile 2.*: field 'y' is written"
    ):
        ProgramEngine(graph, [Execute(made)])
