"""Runs of elements, taken apart where they change the tile.

A piece is a part of a run whose elements are all on one tile. Everything is done on whole columns; only runs that are
neither contiguous nor on one tile are looked at element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.program.placed import Ints, Runs, Variables

#: the tile of elements that lie on none
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Pieces:
    """Parts of runs, in the order of the runs' elements."""

    run: Ints  #: the run that each is a part of
    position: Ints  #: how many elements of all runs come before it
    start: Ints
    count: Ints
    stride: Ints
    tile: Ints
    variable: Ints
    element_bytes: Ints

    def __len__(self) -> int:
        return len(self.start)

    @property
    def bytes(self) -> Ints:
        """Bytes of each piece."""
        return self.count * self.element_bytes

    def chosen(self, which: NDArray[np.bool_] | Ints) -> Pieces:
        """Some of the pieces."""
        return Pieces(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def split(runs: Runs, variables: Variables) -> Pieces:
    """The pieces of `runs`, in order."""
    numbers = np.flatnonzero(runs.count > 0)
    before = (np.cumsum(runs.count) - runs.count)[numbers]
    start, count, stride = runs.start[numbers], runs.count[numbers], runs.stride[numbers]
    stride = np.where(count == 1, 1, stride)
    far = start + (count - 1) * stride
    low, high = np.minimum(start, far), np.maximum(start, far)
    first, last = _interval(variables, low), _interval(variables, high)
    ends = np.append(variables.end, -1)
    whole = (first == last) & (first >= 0) & (high < ends[first])
    straight = ~whole & (stride == 1)
    rest = ~whole & ~straight
    tiles = np.append(variables.tile, NOWHERE)
    parts = [
        (numbers[whole], before[whole], start[whole], count[whole], stride[whole], tiles[first[whole]]),
        _cut(numbers[straight], before[straight], start[straight], count[straight], variables),
        _single(numbers[rest], before[rest], start[rest], count[rest], stride[rest], variables),
    ]
    run, position, start, count, stride, tile = (
        np.concatenate([part[column] for part in parts]) for column in range(6)
    )
    order = np.argsort(position, kind="stable")
    run, position, start, count, stride, tile = (
        column[order] for column in (run, position, start, count, stride, tile)
    )
    variable = np.searchsorted(variables.first, start, side="right") - 1
    variable = _with_elements(variable, variables)
    return Pieces(run, position, start, count, stride, tile, variable, variables.element_bytes[variable])


_Columns = tuple[Ints, Ints, Ints, Ints, Ints, Ints]


def _interval(variables: Variables, elements: Ints) -> Ints:
    """The interval that begins last before each element; -1 if there is none."""
    return np.asarray(np.searchsorted(variables.begin, elements, side="right") - 1)


def _with_elements(variable: Ints, variables: Variables) -> Ints:
    """Variables without elements have the number of the first element of the next: they are never meant."""
    if len(variable) and not variables.elements[variable].all():
        filled = np.flatnonzero(variables.elements)
        return np.asarray(filled[np.searchsorted(filled, variable, side="right") - 1])
    return np.asarray(variable)


def _cut(run: Ints, before: Ints, start: Ints, count: Ints, variables: Variables) -> _Columns:
    """Contiguous runs, cut where an interval begins or ends."""
    end = start + count
    first = np.maximum(_interval(variables, start), 0)
    last = np.maximum(_interval(variables, end - 1), 0)
    spans = last - first + 1 if len(variables.begin) else np.zeros(len(run), dtype=np.int64)
    owner = np.repeat(np.arange(len(run)), spans)
    offset = np.arange(int(spans.sum())) - np.repeat(np.cumsum(spans) - spans, spans)
    interval = first[owner] + offset
    low = np.maximum(variables.begin[interval], start[owner])
    high = np.minimum(variables.end[interval], end[owner])
    some = high > low
    owner, low, high, interval = owner[some], low[some], high[some], interval[some]
    placed = (
        run[owner], before[owner] + low - start[owner], low, high - low, np.ones_like(low), variables.tile[interval]
    )  # fmt: skip
    holes = _holes(run, before, start, end, owner, low, high)
    both = [np.concatenate(pair) for pair in zip(placed, holes, strict=True)]
    return both[0], both[1], both[2], both[3], both[4], both[5]


def _holes(run: Ints, before: Ints, start: Ints, end: Ints, owner: Ints, low: Ints, high: Ints) -> _Columns:
    """What of contiguous runs no interval covers."""
    # the covered parts of a run are sorted: a hole ends where a part begins, or with the run
    owners = np.concatenate([owner, np.arange(len(run))])
    begins = np.concatenate([low, end])
    ends = np.concatenate([high, end])
    order = np.lexsort((begins, owners))
    owners, begins, ends = owners[order], begins[order], ends[order]
    previous = np.empty_like(ends)
    previous[1:] = ends[:-1]
    new = np.ones(len(owners), dtype=np.bool_)
    new[1:] = owners[1:] != owners[:-1]
    previous[new] = start[owners[new]]
    hole = begins > previous
    owners, previous, begins = owners[hole], previous[hole], begins[hole]
    return (
        run[owners], before[owners] + previous - start[owners], previous, begins - previous,
        np.ones_like(previous), np.full_like(previous, NOWHERE),
    )  # fmt: skip


def _single(
    run: Ints, before: Ints, start: Ints, count: Ints, stride: Ints, variables: Variables
) -> _Columns:
    """Other runs, element by element; neighbours on one tile are joined again."""
    owner = np.repeat(np.arange(len(run)), count)
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    element = start[owner] + offset * stride[owner]
    interval = _interval(variables, element)
    inside = (interval >= 0) & (element < np.append(variables.end, -1)[interval])
    tile = np.where(inside, np.append(variables.tile, NOWHERE)[interval], NOWHERE)
    new = np.ones(len(owner), dtype=np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (tile[1:] != tile[:-1])
    first = np.flatnonzero(new)
    lengths = np.diff(np.append(first, len(owner)))
    mine = owner[first]
    step = np.where(lengths == 1, 1, stride[mine])
    return run[mine], before[mine] + offset[first], element[first], lengths, step, tile[first]
