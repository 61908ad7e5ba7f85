"""The edges of a batch have the elements that they were connected to."""

from __future__ import annotations

from tremula.frontends.poplar.codelets.codelet import Direction, Field, Kind
from tremula.frontends.poplar.graph.edges import edges_of
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.types import FLOAT

from ..conftest import LoopCodelet, placed


def test_an_empty_edge_beside_one_of_several_runs(graph: Graph) -> None:
    field = Field("x", Kind.VECTOR_LIST, Direction.INPUT, FLOAT)
    graph.contents.codelets["List"] = LoopCodelet("List", [field], lambda x: None)
    column = placed(graph, FLOAT, (3, 2)).transpose().flatten()[:2]  # two runs of one element
    made = graph.add_compute_set()
    vertex = graph.add_vertex(made, "List", {"x": [column[:0], column]})
    found = edges_of(vertex.batch, field)
    assert found.counts.tolist() == [0, 2]
    assert found.run_edges.tolist() == [1, 1]
    assert not found.single
