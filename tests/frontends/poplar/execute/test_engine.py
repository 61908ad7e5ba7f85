"""Programs run in order, with loops, branches and functions, and give the numbers that NumPy gives."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.programs import Execute, Repeat, Sequence_
from tremula.frontends.poplar.types import FLOAT

from ..conftest import placed, started, value_of


def scaling(graph: Graph, x, y, factor: float, tile: int = 0):
    made = graph.add_compute_set("scale")
    vertex = graph.add_vertex(made, "Scale", {"x": x, "y": y, "factor": factor})
    graph.set_vertex_tile(vertex, tile)
    return Execute(made)


def test_vertices_and_copies_run_in_order(graph: Graph) -> None:
    x, y = placed(graph, FLOAT, (6,), "x"), placed(graph, FLOAT, (6,), "y")
    graph.set_initial_value(x, np.arange(6))
    body = Sequence_(scaling(graph, x, y, 2.0), make_copy(y, x))
    engine = started(graph, Repeat(3, body))
    engine.run()
    np.testing.assert_array_equal(value_of(engine, x), 8 * np.arange(6))
    engine.run()
    np.testing.assert_array_equal(value_of(engine, x), 64 * np.arange(6))
