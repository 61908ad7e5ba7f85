"""Tile mappings: on which tile each element of a variable lies.

Assignments are kept as they come and resolved when somebody asks: to sorted intervals where no two assignments touch
the same element, else by painting them in order, since the last one wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory, Variable
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View

UNMAPPED = -1


@dataclass(frozen=True, eq=False)
class Intervals:
    """Sorted intervals of the elements of one variable, with their tiles. Elements between them are not mapped."""

    begin: Ints
    end: Ints
    tile: Ints

    @property
    def mapped_elements(self) -> int:
        """How many elements have a tile."""
        return int((self.end - self.begin).sum())


def assign(memory: Memory, view: View, tile: int) -> None:
    """Put all elements of a view on a tile."""
    run = view.single_run()
    if run is not None:
        offset, count, step = run
        count = count if step else min(count, 1)  # one element, however often it is named
        if count:
            variable = memory.at(offset)
            last = offset + (count - 1) * step
            if variable.address <= last < variable.address + variable.bytes:
                size = variable.element_bytes
                variable.mapped.append(((offset - variable.address) // size, count, step // size or 1, tile))
                return
    starts, counts, steps = view.runs()
    assign_runs(memory, starts, counts, steps, np.full(len(starts), tile, dtype=np.int64))


def assign_runs(memory: Memory, starts: Ints, counts: Ints, steps: Ints, tiles: Ints) -> None:
    """Put runs of addresses on tiles. A run lies within one variable, or is one of neighbours over several."""
    if not len(starts):
        return
    counts = np.where(steps == 0, np.minimum(counts, 1), counts)
    numbers = memory.numbers_of(starts)
    ends = memory.numbers_of((starts + np.maximum(counts - 1, 0) * steps).astype(np.int64))
    if not np.array_equal(numbers, ends):
        starts, counts, steps, tiles = _cut_at_variables(memory, starts, counts, steps, tiles)
        numbers = memory.numbers_of(starts)
    order = np.argsort(numbers, kind="stable")
    breaks = np.flatnonzero(np.diff(numbers[order])) + 1
    for part in np.split(order, breaks):
        variable = memory.variables[int(numbers[part[0]])]
        size = variable.element_bytes
        columns = np.stack(
            [
                (starts[part] - variable.address) // size,
                counts[part],
                np.where(counts[part] > 1, steps[part] // size, 1),
                tiles[part],
            ],
            axis=1,
        )
        variable.mapped_columns.append((len(variable.mapped), columns))


def _cut_at_variables(
    memory: Memory, starts: Ints, counts: Ints, steps: Ints, tiles: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    owner = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    each = starts[owner] + within * steps[owner]
    ones = np.ones(len(each), dtype=np.int64)
    return each, ones, ones, tiles[owner]


def _columns(variable: Variable) -> Ints:
    """All assignments of a variable, in order."""
    singles = np.array(variable.mapped, dtype=np.int64).reshape(-1, 4)
    if not variable.mapped_columns:
        return singles
    parts, done = [], 0
    for position, columns in variable.mapped_columns:
        parts += [singles[done:position], columns]
        done = position
    return np.concatenate([*parts, singles[done:]])


def put_on_the_only_tile(memory: Memory, compute_sets: Iterable[ComputeSet]) -> None:
    """Give tile 0 to everything that has no tile: programs for a CPU target map nothing."""
    for variable in memory.variables:
        if resolve(variable).mapped_elements != variable.elements:
            variable.mapped[:] = [(0, variable.elements, 1, 0)]
            variable.mapped_columns.clear()
    for made in compute_sets:
        for batch in made.batches.values():
            for vertex, tile in enumerate(batch.tiles):
                if tile == UNMAPPED:
                    batch.tiles[vertex] = 0


def resolve(variable: Variable) -> Intervals:
    """The mapping of a variable as sorted intervals."""
    columns = _columns(variable)
    begin, count, step, tile = columns.T
    if (step == 1).all():
        order = np.argsort(begin, kind="stable")
        first, last = begin[order], (begin + count)[order]
        if (first[1:] >= last[:-1]).all():
            return _joined(first, last, tile[order])
    return _painted(variable.elements, columns)


def _painted(elements: int, columns: Ints) -> Intervals:
    tiles = np.full(elements, UNMAPPED, dtype=np.int32)
    for begin, count, step, tile in columns.tolist():
        if step < 0:
            begin, step = begin + (count - 1) * step, -step
        tiles[begin : begin + (count - 1) * step + 1 : step] = tile
    edges = np.flatnonzero(np.diff(tiles)) + 1
    begin = np.concatenate(([0], edges)) if elements else np.zeros(0, dtype=np.int64)
    end = np.concatenate((edges, [elements])) if elements else np.zeros(0, dtype=np.int64)
    tile = tiles[begin].astype(np.int64)
    kept = tile != UNMAPPED
    return Intervals(begin[kept].astype(np.int64), end[kept].astype(np.int64), tile[kept])


def _joined(begin: Ints, end: Ints, tile: Ints) -> Intervals:
    """Join neighbours on one tile; empty intervals go away."""
    kept = end > begin
    begin, end, tile = begin[kept], end[kept], tile[kept]
    if not len(begin):
        return Intervals(begin, end, tile)
    new = np.concatenate(([True], (begin[1:] != end[:-1]) | (tile[1:] != tile[:-1])))
    starts = np.flatnonzero(new)
    ends = np.concatenate((starts[1:], [len(begin)])) - 1
    return Intervals(begin[starts], end[ends], tile[starts])


def tiles_of(memory: Memory, view: View) -> Ints:
    """The tile of each element of a view, in order; `UNMAPPED` where it has none."""
    addresses = view.addresses().reshape(-1)
    found = np.full(len(addresses), UNMAPPED, dtype=np.int64)
    numbers = memory.numbers_of(addresses)
    for number in np.unique(numbers).tolist():
        variable = memory.variables[number]
        intervals = resolve(variable)
        if not len(intervals.begin):
            continue
        mine = np.flatnonzero(numbers == number)
        elements = (addresses[mine] - variable.address) // variable.element_bytes
        place = np.searchsorted(intervals.begin, elements, side="right") - 1
        inside = (place >= 0) & (elements < intervals.end[place])
        found[mine[inside]] = intervals.tile[place[inside]]
    return found


def intervals_of(memory: Memory, view: View) -> tuple[Ints, Ints, Ints]:
    """Begin, end and tile of the stretches of a view, in its own order, that lie on one tile each."""
    tiles = tiles_of(memory, view)
    if not len(tiles):
        return tiles, tiles, tiles
    edges = np.flatnonzero(np.diff(tiles)) + 1
    begin = np.concatenate(([0], edges)).astype(np.int64)
    end = np.concatenate((edges, [len(tiles)])).astype(np.int64)
    return begin, end, tiles[begin]
