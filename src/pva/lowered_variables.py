"""Parts of tensors on single tiles, which the original calls lowered variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pva.categories import NOT_TENSORS
from pva.not_modelled import NotModelled
from pva.sequences import Chosen, Items
from pva.source import Ints
from pva.steps_of_liveness import LivenessIndex
from pva.variables import Variable, Variables


@dataclass(frozen=True)
class Interval:
    """Steps of `livenessProgramSteps` in which something is alive; `end` is the first in which it is not."""

    start: int
    end: int


class EquivalenceClass:
    """The variables alive in the same steps."""

    __slots__ = ("_lowered", "id")

    def __init__(self, lowered: LoweredVariables, number: int) -> None:
        self._lowered = lowered
        self.id = number

    @property
    def steps(self) -> Items[Interval]:
        """One interval."""
        first, last = self._lowered.classes[0][self.id].tolist()
        found = Interval(*self._lowered.index().interval(first, last))
        return Items(range(1), lambda _: found, self._lowered.variables.source.print_length)

    def __repr__(self) -> str:
        return f"EquivalenceClass({self.id}, {self.steps[0]})"


class LoweredVariable:
    """The part of a variable on one tile."""

    __slots__ = ("_lowered", "_row", "bytes", "id", "tileId")

    def __init__(self, lowered: LoweredVariables, number: int, row: int, tile: int, size: int) -> None:
        self._lowered = lowered
        self._row = row
        self.id = number
        self.tileId = tile
        self.bytes = size

    @property
    def _id(self) -> int:
        return self.id

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self._lowered.variables.names[self._row]

    @property
    def size(self) -> int:
        """Bytes on the tile."""
        return self.bytes

    @property
    def equivalenceClass(self) -> EquivalenceClass:
        """When it is alive."""
        return EquivalenceClass(self._lowered, int(self._lowered.classes[1][self._row]))

    @property
    def hasUnloweredVar(self) -> bool:
        """Always: every part belongs to a variable."""
        return True

    @property
    def unloweredVar(self) -> Variable:
        """The variable that it is a part of."""
        return self._lowered.variables.variable(self._row)

    @property
    def offset(self) -> int:
        """Not modelled: nothing has an address."""
        raise NotModelled("offset of a lowered variable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoweredVariable) and self.id == other.id and self._lowered is other._lowered

    def __hash__(self) -> int:
        return hash((id(self._lowered), "lowered", self.id))

    def __repr__(self) -> str:
        return f"LoweredVariable({self.id}, {self.name!r}, bytes={self.bytes}, tileId={self.tileId})"


class LoweredVariables:
    """Parts of tensors on tiles, of a whole replica or of one tile; `index` gives the steps of the program."""

    def __init__(self, variables: Variables, index: Callable[[], LivenessIndex]) -> None:
        self.variables = variables
        self.index = index

    @property
    def allBriefVars(self) -> Items[LoweredVariable]:
        """All parts of all tensors of a replica."""
        return self.of(None)

    def forTile(self, tile: int) -> list[LoweredVariable]:
        """The parts on one tile of the system."""
        target = self.variables.source.target
        first = self.variables.column("first_tile")
        in_ipu, in_replica = (
            tile % target.tiles_per_ipu,
            tile % (target.tiles_per_ipu * target.ipus_per_replica),
        )
        return [
            LoweredVariable(
                self, int(self._starts[self._places[row]]) + in_ipu - int(first[row]), row, in_replica, size
            )
            for row, size in self.variables.parts(tile)
            if row in self._places
        ]

    @functools.cached_property
    def rows(self) -> Ints:
        """Rows that are listed tile by tile: tensors, not code."""
        code = np.asarray([name in NOT_TENSORS for name in self.variables.categories], dtype=bool)
        is_code = code[self.variables.column("category")] if len(code) else np.zeros(0, dtype=bool)
        return np.flatnonzero(~is_code & (self.variables.gap == 0)).astype(np.int64)

    @functools.cached_property
    def _places(self) -> dict[int, int]:
        return {row: place for place, row in enumerate(self.rows.tolist())}

    @functools.cached_property
    def _starts(self) -> Ints:
        """Number of the first part of each of `rows`, and the number of parts at the end."""
        counts = self.variables.tile_counts[self.rows]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @functools.cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """First and last program step of each equivalence class, and the class of each row."""
        column = self.variables.column
        lasting = column("always_live") > 0
        steps = np.stack(
            [np.where(lasting, -1, column(name)) for name in ("first_step", "last_step")], axis=1
        )
        pairs, of = np.unique(steps, axis=0, return_inverse=True)
        return pairs, of.reshape(-1)

    def of(self, places: Ints | None) -> Items[LoweredVariable]:
        """Parts of all variables, or of those at `places` in `rows`."""
        starts = self._starts
        chosen: Chosen = range(int(starts[-1]))
        if places is not None:
            spans = [np.arange(starts[each], starts[each + 1]) for each in places.tolist()]
            chosen = np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)
        return Items(
            chosen,
            lambda number: next(self._walk(np.asarray([number]))),
            self.variables.source.print_length,
            self._walk,
        )

    def _walk(self, chosen: Chosen) -> Iterator[LoweredVariable]:
        """The parts `chosen`; those of one variable mostly follow each other."""
        numbers = np.asarray(chosen, dtype=np.int64)
        places = np.searchsorted(self._starts, numbers, side="right") - 1
        known, sizes, first, start = -1, [0], 0, 0
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            if place != known:
                known, row = place, int(self.rows[place])
                sizes, first = self._sizes(row)
                start = int(self._starts[place])
            yield LoweredVariable(self, number, row, first + number - start, sizes[number - start])

    def _sizes(self, row: int) -> tuple[list[int], int]:
        """Bytes of a variable on each tile that has a part, and the first of those tiles in the replica."""
        column = self.variables.column
        share, first = (int(column(name)[row]) for name in ("tile_bytes", "first_tile"))
        count = int(self.variables.tile_counts[row])
        base = int(column("ipu")[row]) * self.variables.source.target.tiles_per_ipu
        if share < 0:
            on_tiles = self.variables.source.profile.variable_tiles(row)
            return on_tiles[first : first + count].tolist(), base + first
        return [share] * (count - 1) + [int(column("bytes")[row]) - share * (count - 1)], base + first
