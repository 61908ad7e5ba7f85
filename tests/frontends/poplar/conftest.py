"""Graphs and codelets for tests of the engine: codelets that need no compiler and no rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tremula.frontends.poplar.codelets.codelet import (
    Base,
    Batch,
    Codelet,
    CycleEstimate,
    Direction,
    EstimateSource,
    Field,
    Kind,
    Run,
    Shapes,
    StateVectors,
)
from tremula.frontends.poplar.devices import host_device, model_device
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, Type


class LoopCodelet(Codelet):
    """Calls a Python function for each vertex with its fields: arrays, lists of arrays, or values of members."""

    base = Base.VERTEX

    def __init__(
        self,
        name: str,
        fields: Sequence[Field],
        compute: Callable[..., Any],
        *,
        accepts_strides: bool = False,
    ) -> None:
        self.name = name
        self.fields = {field.name: field for field in fields}
        self.compute = compute
        self.accepts_strides = accepts_strides

    def bind(self, batch: Batch) -> Run:
        vertices = [
            {name: self._argument(batch, name, vertex) for name in self.fields}
            for vertex in range(batch.count)
        ]

        def run() -> bool:
            results = [self.compute(**fields) for fields in vertices]
            return all(result is not False for result in results)

        return run

    def _argument(self, batch: Batch, name: str, vertex: int) -> Any:
        field = self.fields[name]
        if field.kind is Kind.STATE:
            return batch.state[name][vertex : vertex + 1]
        if field.kind is Kind.STATE_VECTOR:
            vectors = batch.state[name]
            assert isinstance(vectors, StateVectors)
            return vectors.values[vectors.first[vertex] : vectors.first[vertex + 1]]
        edges = batch.edges[name]
        if edges.first is None:
            return _edge(batch, name, vertex)
        return [_edge(batch, name, edge) for edge in range(edges.first[vertex], edges.first[vertex + 1])]

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        return CycleEstimate(np.full(shapes.count, 10.0), EstimateSource.CODELET)


def _edge(batch: Batch, name: str, edge: int) -> np.ndarray:
    edges = batch.edges[name]
    offset, count, step = (int(column[edge]) for column in (edges.offsets, edges.counts, edges.strides))
    # what lies behind the edge is in reach, as it is for compiled code
    whole = batch.buffer.view(edges.dtype)
    return np.lib.stride_tricks.as_strided(
        whole[offset // edges.dtype.itemsize :], (count,), (step * edges.dtype.itemsize,)
    )


def vector(name: str, direction: Direction, type: Type | None = FLOAT) -> Field:
    """A field that is a vector."""
    return Field(name, Kind.VECTOR, direction, type)


def _scale(x: np.ndarray, y: np.ndarray, factor: np.ndarray) -> None:
    y[...] = x * factor[0]


SCALE = (
    [
        vector("x", Direction.INPUT),
        vector("y", Direction.OUTPUT),
        Field("factor", Kind.STATE, Direction.NONE, FLOAT),
    ],
    _scale,
)


@pytest.fixture
def graph() -> Graph:
    """A graph of sixteen tiles with one codelet: `Scale`, y = factor * x."""
    made = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=16))
    made.contents.codelets["Scale"] = LoopCodelet("Scale", *SCALE)
    return made


def started(graph: Graph, *programs: Any, **options: Any) -> ProgramEngine:
    """An engine with these programs, loaded."""
    engine = ProgramEngine(graph, programs, **options)
    target = graph.contents.target
    engine.load(host_device() if target.kind is TargetKind.CPU else model_device(target))
    return engine


def placed(graph: Graph, type: Type, shape: Sequence[int], name: str = "", tile: int = 0) -> Any:
    """A variable on one tile."""
    made = graph.add_variable(type, shape, name)
    graph.set_tile_mapping(made, tile)
    return made


def value_of(engine: ProgramEngine, view: Any) -> np.ndarray:
    """The elements of a view in the first replica."""
    from tremula.frontends.poplar.execute import values

    assert engine._loaded is not None
    return values.reader(view, engine._loaded.arenas[0])().copy()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Headers and libraries for C++ programs, compiled once for all tests of a run; skipped without a compiler."""
    from filelock import FileLock

    from tremula.frontends.poplar.codelets.cpp import compiler
    from tremula.frontends.poplar.cpp.installation import install

    if compiler.find() is None:
        assert not os.environ.get("CI"), "no C++ compiler: the tests of C++ programs would prove nothing"
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent  # which the processes of a run share
    with FileLock(folder / "installation.lock"):
        return install(folder / "cpp" / "sdk", optimisation="-O0")
