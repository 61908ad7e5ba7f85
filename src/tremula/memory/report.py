"""The memory of a program: per tile, per IPU, by use, and what is alive at the fullest moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tremula.memory.categories import Category
from tremula.memory.tiles import Tiles
from tremula.memory.verdict import Fit, fit_of


@dataclass(frozen=True)
class Contributor:
    """A user of memory: a tensor, or all tensors of a module."""

    name: str
    category: Category
    bytes: int
    #: the user's module, outermost name first
    scope: tuple[str, ...] = ()


@dataclass(frozen=True)
class Peak:
    """The moment at which an IPU needs most."""

    #: position in the IPU's order of ops
    position: int
    op: str
    phase: str
    scope: tuple[str, ...] = ()


@dataclass(frozen=True)
class IpuMemory:
    """One IPU, at its fullest moment."""

    ipu: int
    #: bytes on each tile, by use
    tiles: Mapping[Category, Tiles]
    peak: Peak
    contributors: tuple[Contributor, ...]
    #: bytes of activations at each position of the step, the whole IPU
    live: Tiles
    tile_memory_bytes: int

    @property
    def by_category(self) -> dict[Category, int]:
        """Bytes of the whole IPU by use."""
        return {category: int(on_tiles.sum()) for category, on_tiles in self.tiles.items()}

    @property
    def per_tile(self) -> Tiles:
        """Bytes on each tile."""
        return sum(self.tiles.values(), np.zeros(1, dtype=np.int64))

    @property
    def total_bytes(self) -> int:
        """Bytes of all tiles, gaps included."""
        return sum(self.by_category.values())

    @property
    def always_live_bytes(self) -> int:
        """Bytes that are in use for the whole run; gaps are not counted."""
        return sum(n for c, n in self.by_category.items() if c.always_live and c is not Category.GAPS)

    @property
    def not_always_live_bytes(self) -> int:
        """Bytes in use at the fullest moment only."""
        return sum(n for c, n in self.by_category.items() if not c.always_live)

    @property
    def fullest_tile(self) -> int:
        """Number of the tile that needs most."""
        return int(np.argmax(self.per_tile))

    @property
    def max_tile_bytes(self) -> int:
        """Bytes on the fullest tile, gaps included."""
        return int(self.per_tile.max())

    @property
    def mean_tile_bytes(self) -> float:
        """Bytes on the mean tile, gaps included."""
        return float(self.per_tile.mean())

    @property
    def fit(self) -> Fit:
        """Whether every tile has room, by what published programs did that are modelled as full."""
        return fit_of(self.max_tile_bytes / self.tile_memory_bytes)

    @property
    def fits(self) -> bool:
        """Whether it is more probable than not that every tile has room."""
        return self.fit.fits

    @property
    def tiles_out_of_memory(self) -> int:
        """Tiles with more modelled bytes than they have."""
        return int((self.per_tile > self.tile_memory_bytes).sum())
