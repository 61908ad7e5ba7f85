"""Copies that run together: the compiler puts copies that do not depend on each other into one exchange.

Copies join if one neither reads nor writes what another one writes, and does not write what it reads; so the order of
effects stays. Copies between different variables, and those that stay on one tile, join the last exchange. Copies
within one variable join the last exchange that touches it; those to contiguous places and those that have to be
scattered keep apart, unless both go to the same tile.

These rules are read off the published profiles of thorbenlouw/lbm-graphcore: rows and columns of one tensor take two
exchanges whether they are written as two waves or in eight groups; written tile by tile, each tile has its own, which
takes a thousand times as long; with a tensor for each tile a few are enough in any order. Which exchanges the compiler
really makes is not published, and programs of many small copies may be far off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tremula.program.placed import Copy, Ints, PlacedProgram, Runs, Variables
from tremula.program.placed_steps import Free, RunCopy, Step, Steps, walk

#: elements of neighbouring copies up to which dependences are looked at; where there are more, each copy is by itself
MOST_ELEMENTS = 50_000_000
#: stands for the variables of other replicas
_REPLICAS = -1


def copies_together(program: PlacedProgram) -> list[list[list[RunCopy]]]:
    """All copies of a program in the order of the control trees: neighbours, of them those of one exchange."""
    found: list[list[list[RunCopy]]] = []
    for root in (*program.programs, *program.functions.values()):
        taken: set[int] = set()
        for step in walk(root):
            for several in _neighbours(step):
                found.append(_groups(several, program))
                taken.update(each.id for each in several)
            if isinstance(step, RunCopy) and step.id not in taken:
                found.append([[step]])
    return found


def _neighbours(step: Step) -> Iterator[list[RunCopy]]:
    """Copies of a sequence with nothing between them that takes time."""
    if not isinstance(step, Steps):
        return
    waiting: list[RunCopy] = []
    for each in step.steps:
        if isinstance(each, RunCopy):
            waiting.append(each)
        elif not isinstance(each, Free):
            if waiting:
                yield waiting
            waiting = []
    if waiting:
        yield waiting


@dataclass
class _Group:
    number: int
    scatters: bool
    copies: list[RunCopy]
    variables: set[int]
    tiles: set[int]  #: that its copies go to
    #: whether the variables tell copies apart: they are different, or nothing leaves its tile
    apart: bool = False


def _groups(several: Sequence[RunCopy], program: PlacedProgram) -> list[list[RunCopy]]:
    copies = [program.copies[each.copy] for each in several]
    size = sum(each.source.elements + each.target.elements for each in copies)
    if len(several) == 1 or size > MOST_ELEMENTS:
        return [[each] for each in several]
    elements = _Elements(copies)
    variables = _variables(copies, program.variables.first)
    sources = _tiles([each.source for each in copies], program.variables)
    tiles = _tiles([each.target for each in copies], program.variables)
    groups: list[_Group] = []
    for number, (step, copy) in enumerate(zip(several, copies, strict=True)):
        apart = len(variables[number]) > 1 or (len(tiles[number]) == 1 and tiles[number] == sources[number])
        wanted = _Group(
            len(groups) + 1, _scatters(copy.target), [], set(variables[number]), set(tiles[number]), apart
        )
        group = None if copy.across_replicas else _joined(groups, wanted, elements, number)
        if group is None:
            group = wanted
            groups.append(group)
            if copy.across_replicas:
                group.variables.add(_REPLICAS)
        group.copies.append(step)
        group.variables |= variables[number]
        group.tiles |= tiles[number]
        group.scatters |= wanted.scatters
        elements.take(number, group.number)
    return [group.copies for group in groups]


def _joined(groups: list[_Group], copy: _Group, elements: _Elements, number: int) -> _Group | None:
    """The group that a copy joins; None if it begins a new one."""
    for group in reversed(groups):
        if _REPLICAS in group.variables:  # a copy across replicas: an exchange of its own
            return None
        independent = elements.independent(number, group.number)
        same_tile = len(copy.tiles) == 1 and copy.tiles == group.tiles
        if copy.apart or group.scatters == copy.scatters or same_tile:
            return group if independent else None
        if not independent or not copy.variables.isdisjoint(group.variables):
            return None
    return None


class _Elements:
    """Which group has read and written an element last, for all elements that neighbouring copies name."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        runs = [each for copy in copies for each in (copy.source, copy.target)]
        named = np.concatenate([_expanded(each) for each in runs])
        known, place = np.unique(named, return_inverse=True)
        self._place = place.reshape(-1)
        self._ends = np.cumsum([0, *(each.elements for each in runs)]).tolist()
        self._read = np.zeros(len(known), dtype=np.int32)
        self._written = np.zeros(len(known), dtype=np.int32)

    def independent(self, copy: int, group: int) -> bool:
        """Whether a copy may run together with a group."""
        source, target = self._of(copy)
        return not (
            (self._written[source] == group).any()
            or (self._written[target] == group).any()
            or (self._read[target] == group).any()
        )

    def take(self, copy: int, group: int) -> None:
        """Note that a copy is of a group."""
        source, target = self._of(copy)
        self._read[source] = group
        self._written[target] = group

    def _of(self, copy: int) -> tuple[Ints, Ints]:
        a, b, c = self._ends[2 * copy : 2 * copy + 3]
        return self._place[a:b], self._place[b:c]


def _expanded(runs: Runs) -> Ints:
    if len(runs) == 1:
        return np.asarray(runs.start[0] + np.arange(int(runs.count[0])) * runs.stride[0])
    count = runs.count
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.asarray(np.repeat(runs.start, count) + offset * np.repeat(runs.stride, count))


def _scatters(target: Runs) -> bool:
    return bool(((target.count > 1) & (np.abs(target.stride) > 1)).any())


def _variables(copies: Sequence[Copy], first: Ints) -> list[set[int]]:
    """The variables of each copy."""
    starts = [np.concatenate([each.source.start, each.target.start]) for each in copies]
    owner = np.searchsorted(first, np.concatenate(starts), side="right") - 1
    ends = np.cumsum([0, *map(len, starts)]).tolist()
    return [set(owner[a:b].tolist()) for a, b in pairwise(ends)]


def _tiles(views: Sequence[Runs], variables: Variables) -> list[set[int]]:
    """The tiles of each view, by the first elements of its runs."""
    at = np.searchsorted(variables.begin, np.concatenate([each.start for each in views]), side="right") - 1
    tile = np.append(variables.tile, -1)[at]
    ends = np.cumsum([0, *map(len, views)]).tolist()
    return [set(tile[a:b].tolist()) for a, b in pairwise(ends)]
