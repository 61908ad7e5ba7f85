"""Tile mappings, splits of work and copies of tensors: what other libraries and users' programs start from."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.types import Type

#: a tile gets at least this much of a tensor, unless the tensor is smaller
SMALLEST_PIECE_BYTES = 128


def pieces(elements: int, grain: int, smallest: int, most: int) -> tuple[Ints, Ints]:
    """Begin and end of at most `most` balanced parts of a range: whole grains, at least `smallest` elements."""
    grains = -(-elements // grain)
    if not grains:
        none = np.zeros(0, dtype=np.int64)
        return none, none
    if smallest > grain:
        most = min(most, max(1, grains // -(-smallest // grain)))
    per_part = -(-grains // most)
    parts = -(-grains // per_part)
    edges = np.arange(parts + 1, dtype=np.int64) * grains // parts * grain
    return edges[:-1], np.minimum(edges[1:], elements)


def linear_pieces(
    graph: Graph, type: Type, elements: int, smallest: int | None = None, grain: int | None = None
) -> tuple[Ints, Ints]:
    """Begin and end of what each tile gets of a tensor that is mapped linearly, from tile 0 on."""
    grain = grain or graph.contents.target.vector_width(type)
    if smallest is None:
        smallest = -(-SMALLEST_PIECE_BYTES // type.size)
    return pieces(elements, grain, smallest, graph.tile_count)


def map_tensor_linearly(
    graph: Graph, view: View, smallest: int | None = None, grain: int | None = None, offset: int = 0
) -> int:
    """Spread a tensor evenly over the tiles in its order, from tile `offset` on; returns the tile after the last one.

    A piece is a multiple of `grain` elements, by default those of a vector instruction, and has at least `smallest`
    elements, by default 128 bytes.
    """
    begin, end = linear_pieces(graph, view.type, view.elements, smallest, grain)
    tiles = (np.arange(len(begin), dtype=np.int64) + offset) % graph.tile_count
    put_pieces(graph, view, begin, end, tiles)
    return int((offset + len(begin)) % graph.tile_count)


def put_pieces(graph: Graph, view: View, begin: Ints, end: Ints, tiles: Ints) -> None:
    """Put the elements from `begin` to `end` of a flattened tensor on tiles, which are numbers of `graph`."""
    if not len(begin):
        return
    whole = tiles if graph.tiles is None else graph.tiles[tiles]
    run = view.single_run()
    if run is not None:
        offset, _, step = run
        steps = np.full(len(begin), step, dtype=np.int64)
        mapping.assign_runs(graph.memory, offset + begin * step, end - begin, steps, whole)
        return
    order = np.argsort(begin, kind="stable")
    begin, end, whole = begin[order], end[order], whole[order]
    counts = end - begin
    places = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - begin, counts)
    addresses = view.addresses().reshape(-1)[places]
    owner = np.repeat(np.arange(len(begin)), counts)
    size = view.element_bytes
    first = np.flatnonzero(np.append(True, (np.diff(addresses) != size) | (np.diff(owner) != 0)))
    lengths = np.diff(np.append(first, len(addresses)))
    steps = np.full(len(first), size, dtype=np.int64)
    mapping.assign_runs(graph.memory, addresses[first], lengths, steps, whole[owner[first]])
