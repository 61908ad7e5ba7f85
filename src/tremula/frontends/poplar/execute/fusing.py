"""Small copies that follow each other, joined to one: programs that exchange halos have thousands of them.

Copies are joined as long as none reads or writes what an earlier one of them writes. Then it makes no difference that
all elements are read before the first is written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from tremula.frontends.poplar.execute.moves import Places, of_runs, of_view
from tremula.frontends.poplar.graph import layout
from tremula.frontends.poplar.graph.edges import Runs
from tremula.frontends.poplar.program.programs import TensorCopy

Pair = tuple[Places, Places]

#: a copy of more elements is as fast alone
_SMALL = 4096
#: how many copies are looked at together, and how few are not worth joining
_MOST, _FEWEST = 1 << 16, 3


class _Ranges:
    """Ranges of bytes that do not overlap, sorted."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def meet(self, begin: int, end: int) -> bool:
        """Whether a range has something in common with one of these."""
        place = bisect_left(self._begins, end)
        return place > 0 and self._ends[place - 1] > begin

    def add(self, begin: int, end: int) -> None:
        """Add a range that meets none of these."""
        place = bisect_right(self._begins, begin)
        self._begins.insert(place, begin)
        self._ends.insert(place, end)


def pairs(copies: Sequence[TensorCopy]) -> list[Pair]:
    """Sources and targets of copies that follow each other, with those joined that can be."""
    found: list[Pair] = []
    group: list[Pair] = []
    written = _Ranges()
    for each in copies:
        pair = of_view(each.source_view), of_view(each.target_view)
        source, target = pair
        if not target.count:
            continue
        reads, writes = source.bounds(), target.bounds()
        joins = (
            target.count <= _SMALL and len(group) < _MOST and (not group or group[0][0].size == source.size)
        )
        if not joins or written.meet(*reads) or written.meet(*writes):
            found += _joined(group)
            group, written = [], _Ranges()
        if target.count > _SMALL:
            found.append(pair)
            continue
        group.append(pair)
        written.add(*writes)
    return found + _joined(group)


def _joined(group: Sequence[Pair]) -> list[Pair]:
    if len(group) < _FEWEST:
        return list(group)
    return [(_together([source for source, _ in group]), _together([target for _, target in group]))]


def _together(parts: Sequence[Places]) -> Places:
    """Elements of several places, one after the other."""
    size = parts[0].size
    if all(each.index is None and len(each.shape) <= 1 for each in parts):
        runs = Runs(
            np.array([each.offset for each in parts], dtype=np.int64),
            np.array([each.count for each in parts], dtype=np.int64),
            np.array([each.strides[0] if each.shape else size for each in parts], dtype=np.int64),
        )
        return of_runs(runs, size)
    index = np.concatenate([_numbers(each) for each in parts])
    return Places(size, (len(index),), index=index)


def _numbers(places: Places) -> layout.Ints:
    if places.index is not None:
        return places.index
    return layout.addresses(places.offset, places.shape, places.strides).reshape(-1) // places.size
