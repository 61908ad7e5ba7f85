"""Memory of tiles and IPUs at the fullest moment of each IPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pva.categories import MAPPED, Categories
from pva.compute_sets import VertexType
from pva.enums import Architecture
from pva.not_modelled import NotModelled
from pva.sequences import Items
from pva.source import Array, Source
from pva.tables import Columns, Table


class Bytes:
    """Bytes with and without those that nothing can use."""

    __slots__ = ("excludingGaps", "includingGaps")

    def __init__(self, excluding: int, including: int) -> None:
        self.excludingGaps = excluding
        self.includingGaps = including

    def __repr__(self) -> str:
        return f"Bytes(includingGaps={self.includingGaps}, excludingGaps={self.excludingGaps})"


class TileVertex:
    """A type of vertex that has code on a tile."""

    __slots__ = ("codeBytes", "count", "type")

    def __init__(self, type: VertexType, count: int, code: int) -> None:
        self.type = type
        self.count = count
        self.codeBytes = code

    def __repr__(self) -> str:
        return f"TileVertex({self.type.name!r}, count={self.count}, codeBytes={self.codeBytes})"


class Memory:
    """Memory of one tile, or of all tiles of an IPU."""

    __slots__ = ("_ipu", "_source", "_tile")

    def __init__(self, source: Source, ipu: int, tile: int | None) -> None:
        self._source = source
        self._ipu = ipu
        self._tile = tile

    def _sum(self, what: str) -> int:
        known = self._source.memory(self._ipu)
        return int(known.arrays[what].sum()) if self._tile is None else known.on_tile(what, self._tile)

    @property
    def total(self) -> Bytes:
        """All bytes."""
        return Bytes(self._sum("excludingGaps"), self._sum("includingGaps"))

    @property
    def overflowed(self) -> Bytes:
        """Bytes beyond the memory of the tile (summed over the tiles that overflow)."""
        return Bytes(self._sum("overflowExcludingGaps"), self._sum("overflowIncludingGaps"))

    @property
    def alwaysLiveBytes(self) -> int:
        """Bytes that are in use for the whole run, without gaps."""
        return self._sum("alwaysLive")

    @property
    def notAlwaysLiveBytes(self) -> int:
        """Bytes that are in use at the fullest moment of the IPU only."""
        return self._sum("notAlwaysLive")

    @property
    def category(self) -> Categories:
        """Bytes by category, without gaps."""
        known = self._source.memory(self._ipu)
        if self._tile is None:
            return Categories({name: int(sizes.sum()) for name, sizes in known.categories.items()})
        return Categories(known.categories_on_tile(self._tile))

    @property
    def vertices(self) -> Items[TileVertex]:
        """Types of vertices with code on the tile, and how many vertices of each there are in all compute sets."""
        if self._tile is None:
            raise AttributeError("vertices are listed by tile: ipu.tiles[i].memory.vertices")
        code, counts = self._source.vertices_of_ipu(self._ipu)
        tile, source = self._tile, self._source
        here = np.flatnonzero(code[:, tile] > 0)

        def make(number: int) -> TileVertex:
            return TileVertex(VertexType(source, number), int(counts[number, tile]), int(code[number, tile]))

        return Items(here, make, source.print_length)

    @property
    def interleaved(self) -> Bytes:
        """Not modelled: the chip model does not tell the two kinds of memory of a tile apart."""
        raise NotModelled("memory.interleaved")

    @property
    def nonInterleaved(self) -> Bytes:
        """Not modelled: as `interleaved`."""
        raise NotModelled("memory.nonInterleaved")

    def __repr__(self) -> str:
        return f"Memory({self.total}, alwaysLiveBytes={self.alwaysLiveBytes})"


class Tile:
    """A tile of the system."""

    __slots__ = ("_source", "id")

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self.id = number

    @property
    def memory(self) -> Memory:
        """The memory at the fullest moment of the IPU."""
        ipu, tile = divmod(self.id, self._source.target.tiles_per_ipu)
        return Memory(self._source, self._source.modelled_ipu(ipu), tile)

    def __repr__(self) -> str:
        return f"Tile({self.id})"


class IPU:
    """An IPU of the system; IPUs of all replicas are equal."""

    Architecture = Architecture
    __slots__ = ("_source", "id")

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self.id = number

    @property
    def tiles(self) -> Table[Tile]:
        """The tiles of the IPU."""
        first = self.id * self._source.target.tiles_per_ipu
        return tiles(self._source, range(first, first + self._source.target.tiles_per_ipu))

    @property
    def memory(self) -> Memory:
        """The memory of all its tiles."""
        return Memory(self._source, self._source.modelled_ipu(self.id), None)

    def __repr__(self) -> str:
        return f"IPU({self.id})"


def ipus(source: Source) -> Items[IPU]:
    """All IPUs of the system."""
    return Items(range(source.ipus), lambda number: IPU(source, number), source.print_length)


def tiles(source: Source, chosen: range | None = None) -> Table[Tile]:
    """Tiles of the system; all of them unless some are chosen."""
    return Table(
        range(source.tiles) if chosen is None else chosen,
        lambda number: Tile(source, number),
        source.print_length,
        _columns(source),
    )


def _columns(source: Source) -> Columns:
    def summed(what: str) -> Array:
        return _all(
            source, [source.memory(ipu).arrays[what] for ipu in range(source.target.ipus_per_replica)]
        )

    def category(name: str) -> Array:
        none: NDArray[np.int64] = np.zeros(source.target.tiles_per_ipu, dtype=np.int64)
        known = [source.memory(ipu).categories for ipu in range(source.target.ipus_per_replica)]
        return _all(source, [each.get(name, none) for each in known])

    found = {
        "ipu": lambda: np.repeat(np.arange(source.ipus), source.target.tiles_per_ipu),
        "totalIncludingGaps": lambda: summed("includingGaps"),
        "totalExcludingGaps": lambda: summed("excludingGaps"),
        "alwaysLiveBytes": lambda: summed("alwaysLive"),
        "notAlwaysLiveBytes": lambda: summed("notAlwaysLive"),
        "overflowedIncludingGaps": lambda: summed("overflowIncludingGaps"),
    }
    for name in dict.fromkeys(MAPPED.values()):
        found[name] = lambda name=name: category(name)  # type: ignore[misc]
    return found


def _all(source: Source, of_ipus: list[Array]) -> Array:
    return np.tile(np.concatenate(of_ipus), source.ipus // len(of_ipus))
