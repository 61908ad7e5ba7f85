"""Graphs of published programs, built as their sources build them."""

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


def implicit_halo(target: TargetFacts, size: int, turns: int) -> tuple[Graph, list[p.Program]]:
    """A stencil on a grid of two columns of tiles, whose vertices read from their neighbours
    (thorbenlouw/lbm-graphcore, HaloRegionApproaches.cpp as of its published profile: 99 elements of each side, and by a
    slip one of the row below).
    """
    graph = Graph(target)
    lists, vector, scalar = Kind.VECTOR_LIST, Kind.VECTOR, Kind.SCALAR
    sides = dict.fromkeys(("n", "s", "e", "w"), (vector, Direction.INPUT))
    corners = dict.fromkeys(("nw", "ne", "sw", "se"), (scalar, Direction.INPUT))
    stencil = Shape(
        "ExtraHalosApproach<float>", **{"in": (lists, Direction.INPUT)}, out=(lists, Direction.OUTPUT), **sides,
        **corners,
    )  # fmt: skip
    graph.contents.codelets[stencil.name] = stencil
    down = target.tiles // 2
    both = [graph.add_variable(FLOAT, (down * size, 2 * size), name) for name in ("in", "out")]
    for tile in range(target.tiles):
        for each in both:
            graph.set_tile_mapping(block(each, tile // 2 * size, tile % 2 * size, size, size), tile)
    sets = [graph.add_compute_set(f"implicitCompute{number}") for number in (1, 2)]
    for tile in range(target.tiles):
        zeros = graph.add_constant(FLOAT, (size,), 0.0)
        zero = graph.add_constant(FLOAT, (), 0.0)
        graph.set_tile_mapping(zeros, tile)
        graph.set_tile_mapping(zero, tile)
        for compute_set, source, target_view in zip(sets, both, both[::-1], strict=True):
            edges = _halo(source, tile, down, size, zeros, zero)
            edges["in"] = block(source, tile // 2 * size, tile % 2 * size, size, size)
            edges["out"] = block(target_view, tile // 2 * size, tile % 2 * size, size, size)
            vertex = graph.add_vertex(compute_set, stencil.name, edges)
            graph.set_vertex_tile(vertex, tile)
            vertex.batch.estimates[vertex.number] = (100, 0)
    return graph, [p.Repeat(turns, p.Sequence_(*(p.Execute(each) for each in sets)))]


def _halo(view: View, tile: int, down: int, size: int, zeros: View, zero: View) -> dict[str, View]:
    row, column = divmod(tile, 2)
    last = size - 1

    def part(below: int, right: int, y: int, x: int, rows: int, columns: int, otherwise: View) -> View:
        if not (0 <= row + below < down and 0 <= column + right < 2):
            return otherwise
        return block(view, (row + below) * size + y, (column + right) * size + x, rows, columns).flatten()

    found = {
        "n": part(-1, 0, last, 1, 1, last, zeros),
        "s": part(1, 0, 0, last, 1, 1, zeros),
        "e": part(0, 1, 1, 0, last, 1, zeros),
        "w": part(0, -1, 1, last, last, 1, zeros),
    }
    for name, below, right in (("nw", -1, -1), ("ne", -1, 1), ("sw", 1, -1), ("se", 1, 1)):
        y, x = (last if below < 0 else 0), (last if right < 0 else 0)
        found[name] = part(below, right, y, x, 1, 1, zero)
    return found


def explicit_halo(target: TargetFacts, size: int, turns: int) -> tuple[Graph, list[p.Program]]:
    """The same with copies into blocks with a margin, all copies of one direction together
    (explicitOneTensorGroupedDirs).
    """
    graph = Graph(target)
    kinds = {"in": (Kind.VECTOR_LIST, Direction.INPUT), "out": (Kind.VECTOR_LIST, Direction.OUTPUT)}
    stencil = Shape("IncludedHalosApproach<float>", **kinds)
    graph.contents.codelets[stencil.name] = stencil
    down, wide = target.tiles // 2, size + 2
    both = [
        graph.add_variable(FLOAT, (down * wide, 2 * wide), name) for name in ("expandedIn", "expandedOut")
    ]

    def of(view: View, tile: int) -> View:
        return block(view, tile // 2 * wide, tile % 2 * wide, wide, wide)

    for tile in range(target.tiles):
        for each in both:
            graph.set_tile_mapping(of(each, tile), tile)
    sets = [graph.add_compute_set(f"explicitCompute{number}") for number in (1, 2)]
    steps: list[p.Program] = []
    for compute_set, source, out in zip(sets, both, both[::-1], strict=True):
        steps += [*_margins(source, down, size, of), p.Execute(compute_set)]
        for tile in range(target.tiles):
            vertex = graph.add_vertex(
                compute_set, stencil.name, {"in": of(source, tile), "out": of(out, tile)}
            )
            graph.set_vertex_tile(vertex, tile)
            vertex.batch.estimates[vertex.number] = (100, 0)
    return graph, [p.Repeat(turns, p.Sequence_(*steps))]


def _margins(view: View, down: int, size: int, of: object) -> list[p.Program]:
    last = size + 1
    # below, right, then place and extent of what is sent, and of where it goes
    moves = (
        (-1, 0, (size, 1, 1, size), (0, 1)), (-1, 1, (size, 1, 1, 1), (0, last)),
        (-1, -1, (size, size, 1, 1), (0, 0)), (1, 0, (1, 1, 1, size), (last, 1)),
        (1, 1, (1, 1, 1, 1), (last, last)), (1, -1, (1, size, 1, 1), (last, 0)),
        (0, 1, (1, 1, size, 1), (1, last)), (0, -1, (1, size, size, 1), (1, 0)),
    )  # fmt: skip
    found: list[p.Program] = []
    for below, right, (y, x, rows, columns), (to_y, to_x) in moves:
        for tile in range(2 * down):
            row, column = tile // 2 + below, tile % 2 + right
            if 0 <= row < down and 0 <= column < 2:
                source = block(of(view, 2 * row + column), y, x, rows, columns)  # type: ignore[operator]
                found.append(p.TensorCopy(source, block(of(view, tile), to_y, to_x, rows, columns)))  # type: ignore[operator]
    return found
