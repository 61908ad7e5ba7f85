"""Edges whose elements cannot lie next to each other on the tile: they are gathered before, or scattered after.

A vertex gets an edge as one stretch of memory. What comes from other tiles arrives that way. The part of a variable
that lies on a tile lies there in the variable's order; where an edge wants another order, or elements beside others
that come from elsewhere, the compiler puts them there as long as no other edge of the program wants something else.
What two edges want differently is copied to a buffer before the vertex runs, and from it afterwards.

Published profiles show all three. Blocks of a matrix that are the tile's part of it are used in place, and blocks with
a margin around them, which other vertices use with it, are copied row by row (thorbenlouw/lbm-graphcore: 9,475 cycles
on a tile for 100 rows of 100 words; 9,666 here). In tutorial 6 an element of the tile itself among 142 of others costs
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tremula.placed.copy_vertices import CopyVertices, copy_vertices
from tremula.placed.hardware import PlacedHardware
from tremula.placed.pieces import Pieces, split
from tremula.program.placed import ComputeSet, FieldRuns, Flags, Ints, Runs, Variables, Vertices


@dataclass(frozen=True, eq=False)
class Rearranged:
    """The vertices that copy, and bytes of their buffers on each tile."""

    vertices: tuple[CopyVertices, ...]
    buffers: Ints


@dataclass(frozen=True, eq=False)
class _Edges:
    """The pieces of edges of several elements, edge after edge."""

    pieces: Pieces
    edge: Ints
    home: Ints  #: tile of the vertex
    address: Ints  #: of the first element, in the order in which variables lie on tiles
    local: Flags

    @property
    def far(self) -> Ints:
        """Address of the last element."""
        return self.address + (self.pieces.count - 1) * np.where(self.pieces.count > 1, self.pieces.stride, 0)

    @property
    def breaks(self) -> Flags:
        """Whether a piece belongs to the edge of the one before it and does not lie behind it on the tile."""
        found = np.zeros(len(self.edge), dtype=np.bool_)
        same = self.edge[1:] == self.edge[:-1]
        follows = self.local[1:] & self.local[:-1] & (self.address[1:] == self.far[:-1] + 1)
        found[1:] = same & ~follows & (self.local[1:] | self.local[:-1])
        return found

    @property
    def uneven(self) -> Flags:
        """Whether a piece on the tile has its elements in another order than the variable."""
        return np.asarray(self.local & (self.pieces.count > 1) & (self.pieces.stride != 1))


class Rearranging:
    """Finds what has to be copied around the compute sets of a program."""

    def __init__(
        self, compute_sets: Sequence[ComputeSet], variables: Variables, hardware: PlacedHardware
    ) -> None:
        self._variables, self._hardware = variables, hardware
        self._places, self._bases = _addresses(variables)
        self._known: dict[int, _Edges | None] = {}
        every = [
            found
            for made in compute_sets
            for batch in made.batches
            for field in batch.fields
            if (found := self._edges(batch, field)) is not None
        ]
        self._wishes = _Wishes(every)

    def around(self, given: ComputeSet, *, reads: bool) -> Rearranged:
        """The copies before a compute set (`reads`) or after it."""
        parts: list[tuple[Pieces, Ints, Ints]] = []
        for batch in given.batches:
            for field in batch.fields:
                edges = self._edges(batch, field) if (field.reads if reads else field.writes) else None
                if edges is None:
                    continue
                chosen = self._wishes.refused(edges) & edges.local
                if chosen.any():
                    pieces = edges.pieces.chosen(chosen)
                    offset = (edges.address[chosen] - self._base(pieces)) * pieces.element_bytes
                    parts.append((pieces, edges.home[chosen], offset))
        buffers = np.zeros(self._hardware.tiles, dtype=np.int64)
        if not parts:
            return Rearranged((), buffers)
        names = Pieces.__dataclass_fields__
        pieces = Pieces(*(np.concatenate([getattr(each, name) for each, _, _ in parts]) for name in names))
        tile = np.concatenate([each for _, each, _ in parts])
        offset = np.concatenate([each for _, _, each in parts])
        np.add.at(buffers, tile, pieces.bytes)
        chip = self._hardware.chip
        made = copy_vertices(pieces, tile, offset, chip.worker_contexts, chip.memcpy_bytes_per_cycle)
        return Rearranged(made, buffers)

    def _base(self, pieces: Pieces) -> Ints:
        interval = np.searchsorted(self._variables.begin, pieces.start, side="right") - 1
        return self._bases[interval]

    def _edges(self, batch: Vertices, field: FieldRuns) -> _Edges | None:
        if id(field) not in self._known:
            self._known[id(field)] = self._found(batch, field)
        return self._known[id(field)]

    def _found(self, batch: Vertices, field: FieldRuns) -> _Edges | None:
        runs = field.runs
        edge = np.arange(len(runs)) if field.edge is None else field.edge
        if not len(edge):
            return None
        lengths = np.bincount(edge, weights=runs.count)
        several = np.flatnonzero(lengths[edge] > 1)
        if not len(several):
            return None
        several = several[runs.count[several] > 0]
        home = batch.tile[field.vertex[several]]
        chosen = Runs(runs.start[several], runs.count[several], runs.stride[several])
        pieces = _beside(chosen, home, self._variables)
        if not len(pieces):
            return None
        home = home[pieces.run]
        run = several[pieces.run]
        local = pieces.tile == home
        interval = np.searchsorted(self._variables.begin, pieces.start, side="right") - 1
        begin = np.append(self._variables.begin, 0)[interval]
        address = np.append(self._places, 0)[interval] + pieces.start - begin
        # what comes from elsewhere is known by its element
        return _Edges(pieces, edge[run], home, np.where(local, address, -1 - pieces.start), local)


def _beside(runs: Runs, home: Ints, variables: Variables) -> Pieces:
    """The pieces of runs that are on the tile `home` of their edge, with those before and behind them in the edge.

    Other pieces are never looked at. Edges of many vertices are often the same runs, which are split once.
    """
    columns = np.stack([runs.start, runs.count, runs.stride])
    different, same_as = np.unique(columns, axis=1, return_inverse=True)
    same_as = same_as.reshape(-1)
    pieces = split(Runs(*different), variables)
    begins = np.searchsorted(pieces.run, np.arange(different.shape[1] + 1))
    # pieces by run and tile
    tiles = int(max(pieces.tile.max(initial=0), home.max(initial=0))) + 2
    key = pieces.run * tiles + pieces.tile
    order = np.argsort(key, kind="stable")
    wanted = same_as * tiles + home
    low, high = (np.searchsorted(key[order], wanted, side=side) for side in ("left", "right"))
    found = high - low
    run = np.repeat(np.arange(len(home)), found)
    piece = order[np.arange(int(found.sum())) + np.repeat(low - np.cumsum(found) + found, found)]
    # numbers of pieces as if every run had its own
    before = np.concatenate(([0], np.cumsum(np.diff(begins)[same_as])))
    number = before[run] + piece - begins[same_as[run]]
    near = np.unique(np.concatenate([number - 1, number, number + 1]))
    near = near[(near >= 0) & (near < before[-1])]
    run = np.searchsorted(before, near, side="right") - 1
    piece = near - before[run] + begins[same_as[run]]
    taken = pieces.chosen(piece)
    ahead = np.cumsum(runs.count) - runs.count
    inside = taken.position - (np.cumsum(different[1]) - different[1])[taken.run]
    return replace(taken, run=run, position=ahead[run] + inside)


class _Wishes:
    """Which neighbours elements must have on their tiles, by all edges of a program."""

    def __init__(self, every: Sequence[_Edges]) -> None:
        none = np.zeros(0, dtype=np.int64)
        begins, ends, left, right = [none], [none], [none], [none]
        for edges in every:
            plain = edges.local & ~edges.uneven & (edges.pieces.count > 1)
            begins.append(edges.address[plain])
            ends.append(edges.far[plain])
            behind = np.zeros(len(edges.edge), dtype=np.bool_)
            behind[1:] = (edges.edge[1:] == edges.edge[:-1]) & ~edges.breaks[1:] & edges.local[1:]
            begins.append(edges.address[behind] - 1)
            ends.append(edges.address[behind])
            at = np.flatnonzero(edges.breaks)
            left.append(edges.far[at - 1])
            right.append(edges.address[at])
        self._begin, self._end = _merged(np.concatenate(begins), np.concatenate(ends))
        pairs = np.unique(np.stack([np.concatenate(left), np.concatenate(right)]), axis=1)
        self._torn_left = _twice(pairs[0])  # elements with two different right neighbours
        self._torn_right = _twice(pairs[1])

    def refused(self, edges: _Edges) -> Flags:
        """Pieces of edges that cannot lie as the edge wants them, all pieces of such an edge."""
        at = np.flatnonzero(edges.breaks)
        left, right = edges.far[at - 1], edges.address[at]
        torn = self._has_right(left) | self._has_right(right - 1) & (right >= 0)
        torn |= np.isin(left, self._torn_left) | np.isin(right, self._torn_right)
        uneven = np.flatnonzero(edges.uneven)
        low = np.minimum(edges.address, edges.far)[uneven]
        odd = uneven[self._has_right(low) | self._has_right(low - 1)]
        refused = np.zeros(int(edges.edge.max()) + 1, dtype=np.bool_)
        refused[edges.edge[at[torn]]] = True
        refused[edges.edge[odd]] = True
        return np.asarray(refused[edges.edge])

    def _has_right(self, address: Ints) -> Flags:
        """Whether some edge needs the element behind an address to stay there."""
        at = np.searchsorted(self._begin, address, side="right") - 1
        return (address >= 0) & (at >= 0) & (address < np.append(self._end, -1)[at])


def _merged(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Intervals that touch as one."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    if not len(begin):
        return begin, end
    reach = np.maximum.accumulate(end)
    new = np.ones(len(begin), dtype=np.bool_)
    new[1:] = begin[1:] > reach[:-1]
    first = np.flatnonzero(new)
    return begin[first], reach[np.append(first[1:], len(begin)) - 1]


def _twice(values: Ints) -> Ints:
    """Values that occur more than once; those of other tiles may."""
    found, counts = np.unique(values, return_counts=True)
    return np.asarray(found[(counts > 1) & (found >= 0)])


def _addresses(variables: Variables) -> tuple[Ints, Ints]:
    """An address for each interval of the mapping, tile after tile of each variable, and that of the tile's part."""
    count = len(variables.begin)
    if not count:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    owner = variables.interval_variable
    order = np.lexsort((variables.begin, variables.tile, owner))
    new = np.ones(count, dtype=np.bool_)
    new[1:] = (owner[order][1:] != owner[order][:-1]) | (
        variables.tile[order][1:] != variables.tile[order][:-1]
    )
    length = (variables.end - variables.begin)[order]
    # parts of different tiles are apart, so that they are not neighbours
    before = np.cumsum(length) - length + 2 * np.cumsum(new)
    first = np.flatnonzero(new)
    places, bases = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    places[order] = before
    bases[order] = np.repeat(before[first], np.diff(np.append(first, count)))
    return places, bases
