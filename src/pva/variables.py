"""Variables: tensors and code.

A variable is a row of the profile: one tensor on one IPU, or one kind of code. All sizes are of one replica.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from pva.categories import GAPS, NOT_TENSORS, category_of
from pva.sequences import Chosen
from pva.source import Groups, Ints, Source
from pva.tables import Table


class Variable:
    """A tensor, or one kind of code: its name and its size in bytes (on the requested tile, or on all tiles)."""

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
        """The category in the chip model: weights, activations, optimizer state ..."""
        return self._source.uses[int(self._source.column("category")[self._id])]

    @property
    def ipu(self) -> int:
        """The IPU of the replica."""
        return int(self._source.column("ipu")[self._id])

    @property
    def alwaysLive(self) -> bool:
        """Whether the variable is live during the whole run."""
        return bool(self._source.column("always_live")[self._id])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self._id == other._id and self._source is other._source

    def __hash__(self) -> int:
        return hash((id(self._source), self._id))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, size={self.size})"


class Variables:
    """All variables of a profile."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.uses = [category.name for category in source.profile.categories]
        self.categories = [category_of(use) for use in self.uses]

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
    def gap(self) -> Ints:
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
        return np.flatnonzero((self.column("always_live") > 0) & (self.gap == 0)).astype(np.int64)

    @functools.cached_property
    def shown(self) -> Ints:
        """Rows of all but gaps."""
        return np.flatnonzero(self.gap == 0).astype(np.int64)

    def on_tile(self, tile: int, *, always_live: bool) -> list[Variable]:
        """Variables with a part on a tile of the system; their size is that part. Code of one kind is one variable."""
        found: dict[Any, Variable] = {}
        lasting, gap = self.column("always_live"), self.gap
        for row, size in self.parts(tile):
            if bool(lasting[row]) is not always_live or gap[row]:
                continue
            name = self.names[row]
            key = name if name in NOT_TENSORS else row
            if key in found:
                found[key].size += size
            else:
                found[key] = Variable(self, row, name, size)
        return list(found.values())

    def parts(self, tile: int) -> Iterator[tuple[int, int]]:
        """Rows of all variables with a part on a tile of the system, whenever they are alive, and the bytes there."""
        per_ipu = self.source.target.tiles_per_ipu
        if not 0 <= tile < self.source.tiles:
            raise IndexError(f"there is no tile {tile}: there are {self.source.tiles:,}")
        rows = self._of_ipu[self.source.modelled_ipu(tile // per_ipu)]
        here = tile % per_ipu - self.column("first_tile")[rows]
        count, share = self.tile_counts[rows], self.column("tile_bytes")[rows]
        last = self.column("bytes")[rows] - share * (count - 1)
        sizes = np.where((here >= 0) & (here < count), np.where(here == count - 1, last, share), 0)
        for at in np.flatnonzero(share < 0):
            sizes[at] = self.source.profile.variable_tiles(int(rows[at]))[tile % per_ipu]
        some = sizes > 0
        return zip(rows[some].tolist(), sizes[some].tolist(), strict=True)

    @functools.cached_property
    def tile_counts(self) -> Ints:
        """Tiles that have a part of each, at most those that there are."""
        return np.clip(self.column("tiles"), 0, self.source.target.tiles_per_ipu)

    @functools.cached_property
    def _of_ipu(self) -> Groups:
        return Groups(self.column("ipu"), self.source.target.ipus_per_replica)


def _path(module: str, name: str) -> str:
    if not module:
        return name
    rest = name[len(module) + 1 :] if name.startswith(f"{module}.") else name
    return f"{module.replace('.', '/')}/{rest}"
