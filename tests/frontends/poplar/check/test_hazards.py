"""Hazards are found wherever there is one, and nowhere else; errors name the element, both vertices and their tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.poplar.codelets.codelet import Direction
from tremula.frontends.poplar.errors import ControlProgramError
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import Execute
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT

from ..conftest import LoopCodelet, placed, vector

NUMBERS = 24


def _graph() -> Graph:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=8))
    fields = [
        vector("x", Direction.INPUT), vector("y", Direction.OUTPUT), vector("z", Direction.INOUT)
    ]  # fmt: skip
    for name in ("One", "Other"):
        graph.contents.codelets[name] = LoopCodelet(name, fields, lambda x, y, z: None)
    return graph


def _views(whole: Any) -> st.SearchStrategy[tuple[Any, list[int]]]:
    """Views of a variable, with the numbers of their elements."""
    stretches = st.tuples(st.integers(0, NUMBERS), st.integers(0, 5), st.integers(1, 4)).map(
        lambda drawn: (whole[drawn[0] : drawn[0] + drawn[1] * drawn[2] : drawn[2]], drawn)
    )
    plain = stretches.map(
        lambda pair: (
            pair[0],
            list(range(NUMBERS))[pair[1][0] : pair[1][0] + pair[1][1] * pair[1][2] : pair[1][2]],
        )
    )
    turned = plain.map(lambda pair: (pair[0].reverse(0), pair[1][::-1]))
    joined = st.tuples(plain, plain).map(
        lambda pairs: (concat([pairs[0][0], pairs[1][0]]), pairs[0][1] + pairs[1][1])
    )
    return st.one_of(plain, plain, turned, joined)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_hazard_is_found_if_there_is_one(data: st.DataObject) -> None:
    graph = _graph()
    whole = placed(graph, FLOAT, (NUMBERS,), "whole")
    made = graph.add_compute_set("set")
    reads: list[set[int]] = []
    writes: list[set[int]] = []
    for tile in range(data.draw(st.integers(1, 4))):
        x, y, z = (data.draw(_views(whole)) for _ in range(3))
        vertex = graph.add_vertex(
            made, data.draw(st.sampled_from(["One", "Other"])), {"x": x[0], "y": y[0], "z": z[0]}
        )
        graph.set_vertex_tile(vertex, tile)
        reads.append({*x[1], *z[1]})
        writes.append({*y[1], *z[1]})
    hazard = any(
        writes[one] & (writes[other] | reads[other])
        for one in range(len(writes))
        for other in range(len(writes))
        if one != other
    )
    if not hazard:
        ProgramEngine(graph, [Execute(made)])
        return
    with pytest.raises(ControlProgramError, match=r"has a hazard: element [0-9]+ of whole") as problem:
        ProgramEngine(graph, [Execute(made)])
    element = int(str(problem.value).split("element ")[1].split()[0])
    tiles = [int(part.split()[0]) for part in str(problem.value).split("on tile ")[1:]]
    first, second = tiles
    assert first != second
    assert element in writes[first]
    assert element in (writes[second] if "and written by" in str(problem.value) else reads[second])


def test_hazards_between_many_vertices_are_found(graph: Graph) -> None:
    count = 20_000
    whole = placed(graph, FLOAT, (2 * count,), "whole")
    made = graph.add_compute_set("many")
    batch = graph.batch(made, "Scale")
    numbers = np.arange(count)
    batch.tiles.frombytes(np.zeros(count, np.int64).tobytes())
    ones, zeros = np.ones(count, np.int64), np.zeros(count, np.int64)
    batch.connections_of("x").extend(numbers, zeros, whole.offset + 8 * numbers, ones, 4 * ones)
    batch.connections_of("y").extend(numbers, zeros, whole.offset + 8 * numbers + 4, ones, 4 * ones)
    ProgramEngine(graph, [Execute(made)])
    offsets = np.frombuffer(batch.connections["x"].offset, np.int64)
    offsets[777] = whole.offset + 8 * 12345 + 4
    with pytest.raises(ControlProgramError) as problem:
        ProgramEngine(graph, [Execute(made)])
    assert "element 24691 of whole" in str(problem.value)
    assert "vertex 12345 of type Scale" in str(problem.value)
    assert "vertex 777 of type Scale" in str(problem.value)
