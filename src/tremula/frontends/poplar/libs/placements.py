"""Where elements go: tiles by use, other IPUs, operands that are repeated, and how tensors are grouped in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.rearrange import moved
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs, poputil
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.types import Type


class Uses:
    """The tiles that use each element of some tensors."""

    def __init__(self) -> None:
        self._addresses: list[Ints] = []
        self._tiles: list[Ints] = []
        self._size = 0

    @property
    def empty(self) -> bool:
        """Whether no use was added."""
        return not self._addresses

    def add(self, view: View, tile: int) -> None:
        """Note that a tile uses a tensor; the tile is one of the whole graph."""
        found = view.addresses().reshape(-1)
        self._addresses.append(found)
        self._tiles.append(np.full(len(found), tile, dtype=np.int64))
        self._size = view.element_bytes

    def extend(self, other: Uses) -> None:
        """Add all uses of another tracker."""
        self._addresses += other._addresses
        self._tiles += other._tiles
        self._size = self._size or other._size

    def place(self, graph: Graph, grain: int, smallest: int) -> None:
        """Put each element on a tile that uses it; elements that the same tiles use are spread over them."""
        if self.empty:
            return
        pairs = np.unique(np.stack([np.concatenate(self._addresses), np.concatenate(self._tiles)]), axis=1)
        distinct, first, counts = np.unique(pairs[0], return_index=True, return_counts=True)
        known: dict[bytes, int] = {}
        users = (pairs[1][begin : begin + count] for begin, count in zip(first, counts, strict=True))
        group = np.array([known.setdefault(each.tobytes(), len(known)) for each in users])
        for number in range(len(known)):
            mine = np.flatnonzero(group == number)
            tiles = pairs[1][first[mine[0]] : first[mine[0]] + counts[mine[0]]]
            begin, end = poputil.pieces(len(mine), max(1, grain), smallest, len(tiles))
            for part, (low, high) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
                places = distinct[mine[low:high]]
                ones = np.ones(len(places), dtype=np.int64)
                where = np.full(len(places), tiles[part], dtype=np.int64)
                mapping.assign_runs(graph.memory, places, ones, ones * self._size, where)


def to_ipu(graph: Graph, view: View, made: View, ipu: int) -> None:
    """Map a clone as the original, with each tile's place kept, on another IPU."""
    target = graph.contents.target
    ipus = target.ipus // graph.contents.replicas
    if not 0 <= ipu < ipus:
        raise PoplibsError(f"there is no IPU {ipu} to copy a tensor to: the graph has {ipus} ({user_line()})")
    per_ipu = target.tiles_per_ipu
    begin, end, tile = mapping.intervals_of(graph.memory, view)
    flat = made.flatten()
    for first, last, where in zip(begin.tolist(), end.tolist(), tile.tolist(), strict=True):
        if where != mapping.UNMAPPED:
            outputs.assign_tile(graph, flat.slice_dimension(first, last), where % per_ipu + ipu * per_ipu)


def broadcast_operand(graph: Graph, whole: View, type: Type, dim: int, dither: bool, name: str) -> View:
    """A vector that is repeated over a tensor, on the tiles that hold what it meets."""
    if not 0 <= dim < whole.rank:
        raise PoplibsError(
            f"a tensor of shape {list(whole.shape)} has no dimension {dim} to be broadcast along ({user_line()})"
        )
    rows = moved(whole, [dim], [0]).reshape((whole.shape[dim], whole.elements // max(1, whole.shape[dim])))
    out = graph.add_variable(type, (whole.shape[dim],), name)
    tiles = mapping.tiles_of(graph.memory, rows).reshape(rows.shape) if whole.elements else np.zeros((0, 0))
    uses = Uses()
    for number, row in enumerate(tiles):
        for tile in np.unique(row[row != mapping.UNMAPPED]).tolist():
            uses.add(out.slice_dimension(number, number + 1), int(tile))
    if uses.empty:
        poputil.map_tensor_linearly(graph, out)
        return out
    uses.place(graph, graph.contents.target.vector_width(type), 0)
    if dither:
        offset = mapping_offset(graph.tile_count, whole.shape)
        begin, end, tile = outputs.stretches(out)
        own = np.arange(graph.tile_count) if graph.tiles is None else graph.tiles
        order = np.argsort(own)
        place = order[np.searchsorted(own, tile, sorter=order)]
        outputs.put_whole_tiles(graph, out, begin, end, own[(place + offset) % graph.tile_count])
    return out


def mapping_offset(tiles: int, shape: Sequence[int], seed: int = 0x9E3779B9) -> int:
    """A first tile that depends on a shape, so that small tensors do not all lie on the first tiles."""
    if tiles < 1:
        raise PoplibsError("there is no tile to choose an offset from")
    for length in shape:
        seed = (seed ^ (int(length) + 0x9E3779B97F4A7C15 + (seed << 6) + (seed >> 2))) & 0xFFFFFFFFFFFFFFFF
    return seed % tiles


def dimension_is_split(graph: Graph, view: View, dim: int, per: int = 1) -> bool:
    """Whether elements along a dimension lie on different tiles, or groups of `per` tiles."""
    if not 0 <= dim < view.rank:
        raise PoplibsError(f"a tensor of shape {list(view.shape)} has no dimension {dim} ({user_line()})")
    tiles = mapping.tiles_of(graph.memory, view).reshape(tuple(view.shape)) // per
    rows = np.moveaxis(tiles, dim, -1)
    return bool(rows.size and (rows != rows[..., :1]).any())


def innermost_grouping(view: View) -> int:
    """How many elements of the innermost dimension are always neighbours in memory."""
    if not view.rank or not view.shape[-1]:
        raise PoplibsError("a scalar, or a tensor without elements, has no grouping")
    length = view.shape[-1]
    rows = view.addresses().reshape(-1, length)
    breaks = np.flatnonzero((np.diff(rows, axis=1) != view.element_bytes).any(axis=0)) + 1
    found = length
    for place in breaks.tolist():
        found = gcd(found, place)
    return found


def dimension_groupings(view: View) -> list[tuple[int, int]]:
    """Dimensions whose neighbours are neighbours in memory, the innermost in memory first, with their group sizes."""
    found: list[tuple[int, int]] = []
    rest, sizes = view, list(view.shape)
    grouped = 1
    while True:
        best = (0, 1)
        for dim in range(view.rank):
            if sizes[dim] < 2:
                continue
            turned = moved(rest, [dim], [view.rank - 1])
            # elements that are one group already move together
            rows = turned.addresses().reshape(-1, sizes[dim])
            step = grouped * view.element_bytes
            breaks = np.flatnonzero((np.diff(rows, axis=1) != step).any(axis=0)) + 1
            size = sizes[dim]
            for place in breaks.tolist():
                size = gcd(size, place)
            if size > best[1]:
                best = (dim, size)
        dim, size = best
        if size == 1:
            return found
        found.append((dim, size))
        rest = rest.sub_sample(size, dim)
        sizes[dim] //= size
        grouped *= size


def partitionable(graph: Graph, type: Type, shape: Sequence[int], parts: Sequence[int], name: str) -> View:
    """A tensor in which each of a grid of parts is one stretch of memory."""
    if len(shape) != len(parts):
        raise PoplibsError(
            f"a tensor of shape {list(shape)} cannot be cut into {list(parts)} parts ({user_line()})"
        )
    if 0 in shape:
        return graph.add_variable(type, shape, name)
    made = graph.add_variable(type, (int(np.prod(shape, dtype=np.int64)),), name)
    index = np.empty(tuple(shape), dtype=np.int64)
    done = 0
    for part in ranges(shape, parts):
        place = tuple(slice(begin, end) for begin, end in part)
        count = index[place].size
        index[place] = (done + np.arange(count)).reshape(index[place].shape)
        done += count
    addresses = made.offset + index * made.element_bytes
    return made.__class__(graph, type, addresses.shape, 0, (), addresses)


def ranges(shape: Sequence[int], parts: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Begin and end in each dimension of each part of a grid, in order: parts of equal size, the last one smaller."""
    along = []
    for length, count in zip(shape, parts, strict=True):
        size = -(-length // count)
        along.append([(begin, min(length, begin + size)) for begin in range(0, length, max(1, size))])
    return [
        [along[dim][place] for dim, place in enumerate(number)]
        for number in np.ndindex(*(len(each) for each in along))
    ]
