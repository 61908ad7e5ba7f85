"""Variables: tensors and code, as wholes and as the parts of them that lie on tiles.

A variable is a row of the profile: one tensor on one IPU, or one kind of code. Its parts on single tiles are what the
original calls lowered variables. All sizes are of one replica.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pva.categories import GAPS, NOT_TENSORS, category_of
from pva.not_modelled import NotModelled
from pva.sequences import Chosen, Items
from pva.source import Ints, Source
from pva.steps_of_liveness import LivenessIndex
from pva.tables import Table


class Variable:
    """A tensor, or one kind of code: its name and its size in bytes (on the tile that was asked about, or on all)."""

    __slots__ = ("_id", "_source", "name", "size")

    def __init__(self, source: Variables, number: int, name: str, size: int) -> None:
        self._source = source
        self._id = number
        self.name = name
        self.size = size

    @property
    def module(self) -> str:
        """Dotted path of the user's module."""
        return self._source.source.texts("variables", "module")[self._id]

    @property
    def category(self) -> str:
        """The memory category, by the original's name."""
        return self._source.categories[int(self._source.column("category")[self._id])]

    @property
    def use(self) -> str:
        """What the chip model counts it as: weights, activations, optimizer state ..."""
        return self._source.uses[int(self._source.column("category")[self._id])]

    @property
    def ipu(self) -> int:
        """The IPU of the replica."""
        return int(self._source.column("ipu")[self._id])

    @property
    def alwaysLive(self) -> bool:
        """Whether it is there for the whole run."""
        return bool(self._source.column("always_live")[self._id])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self._id == other._id and self._source is other._source

    def __hash__(self) -> int:
        return hash((id(self._source), self._id))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, size={self.size})"


@dataclass(frozen=True)
class Interval:
    """Steps of `livenessProgramSteps` in which something is alive; `end` is the first in which it is not."""

    start: int
    end: int


class EquivalenceClass:
    """What is alive in the same steps."""

    __slots__ = ("_variables", "id")

    def __init__(self, variables: Variables, number: int) -> None:
        self._variables = variables
        self.id = number

    @property
    def steps(self) -> Items[Interval]:
        """One interval."""
        first, last = self._variables.classes[0][self.id].tolist()
        found = Interval(*self._variables.index.interval(first, last))
        return Items(range(1), lambda _: found, self._variables.source.print_length)

    def __repr__(self) -> str:
        return f"EquivalenceClass({self.id}, {self.steps[0]})"


class LoweredVariable:
    """The part of a variable that lies on one tile."""

    __slots__ = ("_row", "_variables", "bytes", "id", "tileId")

    def __init__(self, variables: Variables, number: int, row: int, tile: int, size: int) -> None:
        self._variables = variables
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
        return self._variables.name(self._row)

    @property
    def size(self) -> int:
        """Bytes on the tile."""
        return self.bytes

    @property
    def equivalenceClass(self) -> EquivalenceClass:
        """When it is alive."""
        return EquivalenceClass(self._variables, int(self._variables.classes[1][self._row]))

    @property
    def hasUnloweredVar(self) -> bool:
        """Always: every part belongs to a variable."""
        return True

    @property
    def unloweredVar(self) -> Variable:
        """The variable that it is a part of."""
        return self._variables.variable(self._row)

    @property
    def offset(self) -> int:
        """Not modelled: nothing has an address."""
        raise NotModelled("offset of a lowered variable")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LoweredVariable) and self.id == other.id and self._variables is other._variables
        )

    def __hash__(self) -> int:
        return hash((id(self._variables), "lowered", self.id))

    def __repr__(self) -> str:
        return f"LoweredVariable({self.id}, {self.name!r}, bytes={self.bytes}, tileId={self.tileId})"


class Variables:
    """All variables of a profile, and their parts on tiles."""

    def __init__(self, source: Source, index: Callable[[], LivenessIndex]) -> None:
        self.source = source
        self._index = index
        self.uses = [category.name for category in source.profile.categories]
        self.categories = [category_of(use) for use in self.uses]

    @property
    def index(self) -> LivenessIndex:
        """Steps of the program; read when the first lifetime is asked for."""
        return self._index()

    def column(self, name: str) -> Ints:
        """A column of numbers."""
        return self.source.numbers("variables", name)

    @functools.cached_property
    def names(self) -> list[str]:
        """Names with slashes between modules; code has the name of its category."""
        source = self.source
        codes = [name if name in NOT_TENSORS else "" for name in self.categories]
        return [
            codes[category] or _path(module, name)
            for category, module, name in zip(
                self.column("category").tolist(),
                source.texts("variables", "module"),
                source.texts("variables", "name"),
                strict=True,
            )
        ]

    def name(self, row: int) -> str:
        """Name of one."""
        return self.names[row]

    def variable(self, row: int) -> Variable:
        """One variable, with its size on all tiles."""
        return Variable(self, row, self.names[row], int(self.column("bytes")[row]))

    @functools.cached_property
    def _gap(self) -> Ints:
        """1 for rows that are gaps, which no list shows."""
        gaps = np.asarray([use == GAPS for use in self.uses], dtype=np.int64)
        return gaps[self.column("category")] if len(gaps) else np.zeros(0, dtype=np.int64)

    def table(self, rows: Ints) -> Table[Variable]:
        """Variables as a list."""

        def walk(chosen: Chosen) -> Iterator[Variable]:
            names, numbers = self.names, np.asarray(chosen)
            sizes = self.column("bytes")[numbers].tolist()
            return (
                Variable(self, row, names[row], size)
                for row, size in zip(numbers.tolist(), sizes, strict=True)
            )

        source = self.source
        return Table(
            rows,
            self.variable,
            source.print_length,
            {
                "name": lambda: self.names,
                "size": lambda: self.column("bytes"),
                "module": lambda: source.texts("variables", "module"),
                "category": lambda: [self.categories[each] for each in self.column("category").tolist()],
                "use": lambda: [self.uses[each] for each in self.column("category").tolist()],
                "ipu": lambda: self.column("ipu"),
                "alwaysLive": lambda: self.column("always_live"),
                "firstStep": lambda: self.column("first_step"),
                "lastStep": lambda: self.column("last_step"),
            },
            walk,
        )

    @functools.cached_property
    def always_live(self) -> Ints:
        """Rows of those that are there for the whole run."""
        return np.flatnonzero((self.column("always_live") > 0) & (self._gap == 0)).astype(np.int64)

    @functools.cached_property
    def shown(self) -> Ints:
        """Rows of all but gaps."""
        return np.flatnonzero(self._gap == 0).astype(np.int64)

    def on_tile(self, tile: int, *, always_live: bool) -> list[Variable]:
        """Variables with a part on a tile of the system; their size is that part. Code of one kind is one variable."""
        found: dict[Any, Variable] = {}
        lasting, gap = self.column("always_live"), self._gap
        for row, size in self._parts(tile):
            if bool(lasting[row]) is not always_live or gap[row] or not size:
                continue
            name = self.names[row]
            key = name if name in NOT_TENSORS else row
            if key in found:
                found[key].size += size
            else:
                found[key] = Variable(self, row, name, size)
        return list(found.values())

    def _parts(self, tile: int) -> Iterator[tuple[int, int]]:
        tiles = self.source.target.tiles_per_ipu
        if not 0 <= tile < self.source.tiles:
            raise IndexError(f"there is no tile {tile}: there are {self.source.tiles:,}")
        rows, sizes = self.source.profile.variables_on_tile(
            self.source.modelled_ipu(tile // tiles), tile % tiles
        )
        return zip(np.asarray(rows).tolist(), np.asarray(sizes).tolist(), strict=True)

    # -- parts on tiles ----------------------------------------------------------------------------------

    @functools.cached_property
    def lowered_rows(self) -> Ints:
        """Rows that are listed tile by tile: tensors, not code."""
        code = np.asarray([name in NOT_TENSORS for name in self.categories], dtype=bool)
        is_code = code[self.column("category")] if len(code) else np.zeros(0, dtype=bool)
        return np.flatnonzero(~is_code & (self._gap == 0)).astype(np.int64)

    @functools.cached_property
    def lowered_starts(self) -> Ints:
        """Number of the first part of each of `lowered_rows`, and the number of parts at the end."""
        return np.concatenate([[0], np.cumsum(self.column("tiles")[self.lowered_rows])]).astype(np.int64)

    @functools.cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """First and last program step of each equivalence class, and the class of each row."""
        lasting = self.column("always_live") > 0
        first = np.where(lasting, -1, self.column("first_step"))
        last = np.where(lasting, -1, self.column("last_step"))
        pairs, of = np.unique(np.stack([first, last], axis=1), axis=0, return_inverse=True)
        return pairs, of.reshape(-1)

    def lowered(self, rows: Ints | None = None) -> Items[LoweredVariable]:
        """Parts of variables on tiles: of all, or of those at `rows` (positions in `lowered_rows`)."""
        starts = self.lowered_starts
        chosen: Chosen = range(int(starts[-1]))
        if rows is not None:
            spans = [np.arange(starts[each], starts[each + 1]) for each in rows.tolist()]
            chosen = np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)

        def make(number: int) -> LoweredVariable:
            return next(self._walk_lowered(np.asarray([number])))

        return Items(chosen, make, self.source.print_length, self._walk_lowered)

    def _walk_lowered(self, chosen: Chosen) -> Iterator[LoweredVariable]:
        tiles_per_ipu = self.source.target.tiles_per_ipu
        ipus, known, sizes, first, base = self.column("ipu"), -1, [0], 0, 0
        numbers = np.asarray(chosen)
        positions = np.searchsorted(self.lowered_starts, numbers, side="right") - 1
        for number, position in zip(numbers.tolist(), positions.tolist(), strict=True):
            row = int(self.lowered_rows[position])
            if row != known:
                known = row
                on_tiles = np.asarray(self.source.profile.variable_tiles(row))
                first = int(self.column("first_tile")[row])
                sizes = on_tiles.tolist()
                base = int(ipus[row]) * tiles_per_ipu
            tile = first + number - int(self.lowered_starts[position])
            yield LoweredVariable(self, number, row, base + tile, sizes[tile])

    def lowered_on_tile(self, tile: int) -> list[LoweredVariable]:
        """Parts of tensors on one tile of the system."""
        places = {int(row): position for position, row in enumerate(self.lowered_rows.tolist())}
        first, base = self.column("first_tile"), tile % self.source.target.tiles_per_ipu
        return [
            LoweredVariable(
                self,
                int(self.lowered_starts[places[row]]) + base - int(first[row]),
                row,
                self._in_replica(tile),
                size,
            )
            for row, size in self._parts(tile)
            if row in places and size
        ]

    def _in_replica(self, tile: int) -> int:
        return int(tile % (self.source.target.tiles_per_ipu * self.source.target.ipus_per_replica))


class LoweredVariables:
    """Parts of variables on tiles, of the whole replica or of one tile."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    @property
    def allBriefVars(self) -> Items[LoweredVariable]:
        """All parts of all tensors of a replica."""
        return self._variables.lowered()

    def forTile(self, tile: int) -> list[LoweredVariable]:
        """The parts on one tile."""
        return self._variables.lowered_on_tile(tile)


def _path(module: str, name: str) -> str:
    if not module:
        return name
    rest = name[len(module) + 1 :] if name.startswith(f"{module}.") else name
    return f"{module.replace('.', '/')}/{rest}"
