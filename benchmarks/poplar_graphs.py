"""Graphs that are only modelled, and tutorial 6 as its source builds it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
)
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.endpoints import DataStream
from tremula.frontends.poplar.target import TargetFacts, TargetKind, of_version
from tremula.frontends.poplar.types import FLOAT


class Shape(Codelet):
    """A vertex type that is only modelled. Fields by name: kind and direction."""

    def __init__(self, name: str, base: Base = Base.VERTEX, **fields: tuple[Kind, Direction]) -> None:
        self.name, self.base = name, base
        self.fields = {each: Field(each, *kinds, FLOAT) for each, kinds in fields.items()}

    def bind(self, batch: Batch) -> Run:
        raise NotImplementedError

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        return CycleEstimate(np.full(shapes.count, 6.0), EstimateSource.GUESSED)


def model_target(version: str, *, delays: bool = True, tiles: int = 0, **figures: object) -> TargetFacts:
    """The target of an IPU model; without `delays` as tutorial 6 sets it."""
    found = of_version(version, TargetKind.IPU_MODEL, 1, tiles)
    if not delays:
        found = replace(found, min_ipu_sync_delay=0, relative_sync_delay="NO_DELAY")
    return replace(found, **figures)  # type: ignore[arg-type]


def block(view: View, row: int, column: int, rows: int, columns: int) -> View:
    """A rectangle of a matrix."""
    return view.slice_dimension(row, row + rows, 0).slice_dimension(column, column + columns, 1)


def tutorial_6(target: TargetFacts, rows: int, columns: int, split: int) -> tuple[Graph, list[p.Program]]:
    """Matrix times vector in column splits (graphcore/examples, tut6.cpp)."""
    graph = Graph(target)
    scalar, vector = Kind.SCALAR, Kind.VECTOR
    reads, writes = Direction.INPUT, Direction.OUTPUT
    dot = Shape("DotProductVertex", a=(vector, reads), b=(vector, reads), out=(scalar, writes))
    reduction = Shape("ReduceVertex", **{"in": (vector, reads)}, out=(scalar, writes))
    graph.contents.codelets.update({each.name: each for each in (dot, reduction)})
    matrix = graph.add_variable(FLOAT, (rows, columns), "matrix")
    given = graph.add_variable(FLOAT, (columns,), "inputVector")
    found = graph.add_variable(FLOAT, (rows,), "outputVector")
    partials = graph.add_variable(FLOAT, (rows, split), "partials")
    tiles = target.tiles
    for column in range(columns):
        graph.set_tile_mapping(given.at(column), column * tiles // columns)
    products, sums = graph.add_compute_set("mulCS"), graph.add_compute_set("reduceCS")
    for part in range(split):
        begin, end = part * columns // split, (part + 1) * columns // split
        for row in range(rows):
            elements = matrix.at(row).slice_dimension(begin, end)
            out = partials.at(row).at(part)
            connections = {"a": elements, "b": given.slice_dimension(begin, end), "out": out}
            vertex = graph.add_vertex(products, dot.name, connections)
            tile = (part * rows + row) * tiles // (split * rows)
            graph.set_vertex_tile(vertex, tile)
            graph.set_tile_mapping(elements, tile)
            graph.set_tile_mapping(out, tile)
            vertex.batch.estimates[vertex.number] = (5 + (end - begin + 1) // 2, 0)
    for row in range(rows):
        vertex = graph.add_vertex(sums, reduction.name, {"in": partials.at(row), "out": found.at(row)})
        graph.set_vertex_tile(vertex, row * tiles // rows)
        graph.set_tile_mapping(found.at(row), row * tiles // rows)
        vertex.batch.estimates[vertex.number] = (5 + (split + 1) // 2, 0)
    program = p.Sequence_(
        p.StreamRead(DataStream("inputVector", FLOAT, columns, True), given, name="inputVector"),
        p.StreamRead(DataStream("inputMatrix", FLOAT, rows * columns, True), matrix, name="inputMatrix"),
        p.Execute(products),
        p.Execute(sums),
        p.StreamWrite(found, DataStream("out", FLOAT, rows, False), name="out"),
    )
    return graph, [program]
