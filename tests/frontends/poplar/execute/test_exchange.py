"""What a vertex reads and writes itself: in place on its own tile, a copy from before where it lies on another one."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tremula.frontends.poplar.codelets.codelet import Direction, Field, Kind
from tremula.frontends.poplar.errors import ApplicationRuntimeError
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import Execute, Sequence_
from tremula.frontends.poplar.types import BOOL, FLOAT, INT

from ..conftest import LoopCodelet, placed, started, value_of, vector


def _prefix(x: np.ndarray, y: np.ndarray) -> None:
    for place in range(len(x)):
        y[place] += x[place]


@pytest.mark.parametrize(("tile", "expected"), [(0, [1, 2, 3, 4, 5]), (5, [1, 2, 2, 2, 2])])
def test_remote_operands_are_copies(graph: Graph, tile: int, expected: list[int]) -> None:
    """y[i] += x[i] with y one element behind x: in place it sums up, from copies it adds neighbours."""
    fields = [vector("x", Direction.INPUT), vector("y", Direction.INOUT)]
    graph.contents.codelets["Prefix"] = LoopCodelet("Prefix", fields, _prefix)
    whole = placed(graph, FLOAT, (5,), "whole", tile=0)
    graph.set_initial_value(whole, 1)
    made = graph.add_compute_set()
    vertex = graph.add_vertex(made, "Prefix", {"x": whole[:4], "y": whole[1:]})
    graph.set_vertex_tile(vertex, tile)
    engine = started(graph, Execute(made))
    engine.run()
    assert value_of(engine, whole).tolist() == expected
    engine.load(engine._device)
    engine.run()
    assert value_of(engine, whole).tolist() == expected


@pytest.mark.parametrize("place", [3, 4, 7, -1, -2])
@pytest.mark.parametrize("kind", ["apart", "gathered", "own"])
def test_a_write_outside_a_field_is_an_error(graph: Graph, place: int, kind: str) -> None:
    def outside(x: np.ndarray, y: np.ndarray) -> None:
        address = y.__array_interface__["data"][0] + place * y.strides[0]
        ctypes.c_float.from_address(address).value = 5.0

    graph.contents.codelets["Wrong"] = LoopCodelet(
        "Wrong", [vector("x", Direction.INPUT), vector("y", Direction.OUTPUT)], outside
    )
    x, y = placed(graph, FLOAT, (9,), "x"), placed(graph, FLOAT, (9,), "y", tile=2)
    made = graph.add_compute_set()
    target = {"apart": y[3:6], "gathered": y[1:7:2], "own": y[3:6]}[kind]
    vertex = graph.add_vertex(made, "Wrong", {"x": target if kind == "own" else x[:3], "y": target})
    graph.set_vertex_tile(vertex, 2)
    engine = started(graph, Execute(made))
    with pytest.raises(ApplicationRuntimeError, match=r"type Wrong on tile 2 .*writes") as problem:
        engine.run()
    if kind != "own":
        where = "behind the last" if place > 0 else "before the first"
        assert f"{where} element of its field 'y', which has 3 elements" in str(problem.value)


def test_a_state_keeps_its_value_from_run_to_run(graph: Graph) -> None:
    def count(out: np.ndarray, calls: np.ndarray) -> None:
        calls[0] += 1
        out[0] = calls[0]

    fields = [
        Field("out", Kind.SCALAR, Direction.OUTPUT, INT),
        Field("calls", Kind.STATE, Direction.NONE, INT),
    ]
    graph.contents.codelets["Count"] = LoopCodelet("Count", fields, count)
    out = placed(graph, INT, (2,), "out")
    made = graph.add_compute_set()
    for number, start in enumerate((0, 10)):
        vertex = graph.add_vertex(made, "Count", {"out": out[number], "calls": start})
        graph.set_vertex_tile(vertex, 0)
    engine = started(graph, Execute(made))
    for _ in range(3):
        engine.run()
    assert value_of(engine, out).tolist() == [3, 13]
    engine.load(engine._device)
    engine.run()
    assert value_of(engine, out).tolist() == [1, 11]


def test_the_exit_value_says_whether_all_vertices_returned_true(graph: Graph) -> None:
    codelet = LoopCodelet("Positive", [vector("x", Direction.INPUT)], lambda x: bool((x > 0).all()))
    graph.contents.codelets["Positive"] = codelet
    x, flag = placed(graph, FLOAT, (4,)), placed(graph, BOOL, (2,))
    graph.set_initial_value(x, [1, 2, 3, -1])
    programs = []
    for number, end in enumerate((3, 4)):
        made = graph.add_compute_set()
        for place in range(end):
            graph.set_vertex_tile(graph.add_vertex(made, "Positive", {"x": x[place : place + 1]}), 0)
        programs.append(Execute(made, flag[number]))
    engine = started(graph, Sequence_(*programs))
    engine.run()
    assert value_of(engine, flag).tolist() == [True, False]
