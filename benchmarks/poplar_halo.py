"""The halo exchanges of thorbenlouw/lbm-graphcore (HaloRegionApproaches.cpp), as their published profiles have them.

A grid of two columns of tiles, each with a square block. Two variables take turns: vertices read one and write the
other. The programs differ in how the elements around a block get to its tile. Each function gives the graph and two
programs: the one that fills the blocks, and the one that was run and profiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tremula.frontends.poplar.codelets.codelet import Direction, Kind
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.target import TargetFacts
from tremula.frontends.poplar.types import FLOAT

from .poplar_graphs import Shape, block

Made = tuple[Graph, list[p.Program]]
#: a margin's copy: rows and columns to the tile it comes from, place and extent there, and where it goes
Move = tuple[int, int, tuple[int, int, int, int], tuple[int, int]]
#: the block of a tile with its margin, in one of the two variables
Blocks = Callable[[int], View]

CYCLES = 100  #: of each vertex, as the program says


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


def by_direction(target: TargetFacts, size: int, turns: int) -> Made:
    """One tensor with margins, all copies of one direction together (explicitOneTensorGroupedDirs)."""
    return _with_margins(target, size, turns, _one_tensor, lambda tiles: _grouped(tiles, _moves(size)))


def tile_by_tile(target: TargetFacts, size: int, turns: int) -> Made:
    """One tensor with margins, all copies to one tile together (explicitOneTensor)."""
    return _with_margins(target, size, turns, _one_tensor, lambda tiles: _each_tile(tiles, _moves(size)))


def two_waves(target: TargetFacts, size: int, turns: int) -> Made:
    """One tensor with margins, rows first and then columns with the corners (explicitOneTensor2Wave)."""
    last = size + 1
    rows: list[Move] = [(-1, 0, (size, 1, 1, last), (0, 1)), (1, 0, (1, 1, 1, last), (last, 1))]
    columns: list[Move] = [(0, 1, (0, 1, last + 1, 1), (0, last)), (0, -1, (0, size, last + 1, 1), (0, 0))]

    def order(tiles: int) -> Iterator[tuple[int, int, Move]]:
        yield from _each_tile(tiles, rows)
        yield from _each_tile(tiles, columns)

    return _with_margins(target, size, turns, _one_tensor, order)


def tensor_for_each_tile(target: TargetFacts, size: int, turns: int) -> Made:
    """A tensor for each block, all copies to one tile together (explicitManyTensors).

    By a slip of the source, the tile above and the one below are looked for a column's number of tiles away: those of
    the left column are the tile itself, and those of the right one are its neighbours in order.
    """

    def order(tiles: int) -> Iterator[tuple[int, int, Move]]:
        for tile, _, move in _each_tile(tiles, _moves(size)):
            yield tile, tile + move[0] * (tile % 2) + move[1], move

    return _with_margins(target, size, turns, _tensor_each, order)


def _with_margins(
    target: TargetFacts,
    size: int,
    turns: int,
    variables: Callable[[Graph, int, str], Blocks],
    order: Callable[[int], Iterator[tuple[int, int, Move]]],
) -> Made:
    graph = Graph(target)
    lists = Kind.VECTOR_LIST
    shapes = (
        Shape(
            "IncludedHalosApproach<float>", **{"in": (lists, Direction.INPUT)}, out=(lists, Direction.OUTPUT)
        ),
        Shape("Fill<float>", result=(Kind.VECTOR, Direction.OUTPUT)),
    )
    graph.contents.codelets.update({each.name: each for each in shapes})
    both = [variables(graph, size + 2, name) for name in ("expandedIn", "expandedOut")]
    init = graph.add_compute_set("init")
    sets = [graph.add_compute_set(f"explicitCompute{number}") for number in (1, 2)]
    for tile in range(target.tiles):
        for blocks in both:
            inner = block(blocks(tile), 1, 1, size, size).flatten()
            _add(graph, init, shapes[1], {"result": inner}, tile)
    steps: list[p.Program] = []
    for compute_set, source, out in zip(sets, both, both[::-1], strict=True):
        for tile, other, (_, _, (y, x, rows, columns), (to_y, to_x)) in order(target.tiles):
            sent = block(source(other), y, x, rows, columns)
            steps.append(p.TensorCopy(sent, block(source(tile), to_y, to_x, rows, columns)))
        steps.append(p.Execute(compute_set))
        for tile in range(target.tiles):
            _add(graph, compute_set, shapes[0], {"in": source(tile), "out": out(tile)}, tile)
    return graph, [p.Execute(init), p.Repeat(turns, p.Sequence_(*steps))]


def _add(graph: Graph, compute_set: object, shape: Shape, edges: dict[str, View], tile: int) -> None:
    vertex = graph.add_vertex(compute_set, shape.name, edges)  # type: ignore[arg-type]
    graph.set_vertex_tile(vertex, tile)
    vertex.batch.estimates[vertex.number] = (CYCLES, 0)


def _one_tensor(graph: Graph, wide: int, name: str) -> Blocks:
    tiles = graph.contents.target.tiles
    whole = graph.add_variable(FLOAT, (tiles // 2 * wide, 2 * wide), name)
    views = [block(whole, tile // 2 * wide, tile % 2 * wide, wide, wide) for tile in range(tiles)]
    return _placed(graph, views)


def _tensor_each(graph: Graph, wide: int, name: str) -> Blocks:
    tiles = range(graph.contents.target.tiles)
    return _placed(graph, [graph.add_variable(FLOAT, (wide, wide), f"{name}{tile}") for tile in tiles])


def _placed(graph: Graph, views: Sequence[View]) -> Blocks:
    for tile, view in enumerate(views):
        graph.set_tile_mapping(view, tile)
    return views.__getitem__


def _moves(size: int) -> list[Move]:
    """The copies into a margin, in the order of the source: rows with their corners, then columns."""
    last = size + 1
    return [
        (-1, 0, (size, 1, 1, size), (0, 1)), (-1, 1, (size, 1, 1, 1), (0, last)), (-1, -1, (size, size, 1, 1), (0, 0)),
        (1, 0, (1, 1, 1, size), (last, 1)), (1, 1, (1, 1, 1, 1), (last, last)), (1, -1, (1, size, 1, 1), (last, 0)),
        (0, 1, (1, 1, size, 1), (1, last)), (0, -1, (1, size, size, 1), (1, 0)),
    ]  # fmt: skip


def _each_tile(tiles: int, moves: Sequence[Move]) -> Iterator[tuple[int, int, Move]]:
    """The moves that there are for each tile, with the tile they come from."""
    for tile in range(tiles):
        for move in moves:
            row, column = tile // 2 + move[0], tile % 2 + move[1]
            if 0 <= row < tiles // 2 and 0 <= column < 2:
                yield tile, 2 * row + column, move


def _grouped(tiles: int, moves: Sequence[Move]) -> Iterator[tuple[int, int, Move]]:
    for move in moves:
        yield from _each_tile(tiles, [move])
