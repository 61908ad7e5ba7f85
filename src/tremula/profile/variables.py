"""Where variables lie: bytes of the rows of the frame `variables` on the tiles, and which of them are alive when.

A variable covers consecutive tiles with the same number of bytes on each; the last has the rest. One variable of
each use of memory may have what the others leave of the use on every tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.profile.frame_reader import Frame

Ints = NDArray[np.int64]

#: bytes that a tile gets at least of a variable, as long as there are any left, and of which it gets multiples
_LEAST_BYTES = 128
_GRAIN_BYTES = 8


def linear(sizes: Ints, tiles: int) -> tuple[Ints, Ints]:
    """How variables of `sizes` bytes lie on up to `tiles` tiles: tiles that have a part, and bytes on each but the
    last.
    """
    share = np.maximum(-(-sizes // (tiles * _GRAIN_BYTES)) * _GRAIN_BYTES, _LEAST_BYTES)
    return -(-sizes // share), share


def on_tiles(first: Ints, count: Ints, share: Ints, sizes: Ints, tiles: int) -> Ints:
    """Bytes of all these variables on each of `tiles` tiles."""
    steps = np.zeros(tiles + 1, dtype=np.int64)
    some = count > 0
    first, count, share, sizes = first[some], count[some], share[some], sizes[some]
    np.add.at(steps, first, share)
    last = first + count - 1
    np.subtract.at(steps, last, share)
    found = np.cumsum(steps)[:tiles]
    np.add.at(found, last, sizes - share * (count - 1))
    return found


@dataclass(frozen=True)
class _OfIpu:
    """The variables of one IPU."""

    rows: Ints
    category: Ints
    bytes: Ints
    always: NDArray[np.bool_]
    first_step: Ints
    last_step: Ints
    first_tile: Ints
    tiles: Ints
    share: Ints

    def alive(self, step: int) -> NDArray[np.bool_]:
        return self.always | ((self.first_step <= step) & (step <= self.last_step))


class Variables:
    """The variables of a profile on its tiles. Raises ValueError where the file does not add up."""

    def __init__(
        self,
        frame: Frame,
        tiles: int,
        peak_step: Callable[[int], int],
        tile_bytes: Callable[[int], Mapping[int, Ints]],
    ) -> None:
        self._frame = frame
        self._tiles = tiles
        self._peak_step = peak_step
        self._tile_bytes = tile_bytes
        self._known: dict[int, _OfIpu] = {}
        self._rests: dict[tuple[int, int], Ints] = {}

    def on_tile(self, ipu: int, tile: int) -> tuple[Ints, Ints]:
        """Rows of variables that have bytes on a tile at the fullest moment of its IPU, and the bytes; most first."""
        mine = self._of(ipu)
        here = tile - mine.first_tile
        inside = (here >= 0) & (here < mine.tiles) & mine.alive(self._peak_step(ipu))
        rest = mine.bytes - mine.share * (mine.tiles - 1)
        found = np.where(inside, np.where(here == mine.tiles - 1, rest, mine.share), 0)
        for at in np.flatnonzero(mine.share < 0):
            found[at] = int(self._rest(ipu, int(mine.category[at]))[tile])
        some = np.flatnonzero(found > 0)
        some = some[np.argsort(-found[some], kind="stable")]
        return mine.rows[some], found[some]

    def of_row(self, row: int) -> Ints:
        """Bytes of one variable on each tile of its IPU."""
        ipu = int(self._frame.window("ipu", row, 1)[0])
        mine = self._of(ipu)
        at = int(np.searchsorted(mine.rows, row))
        if mine.share[at] < 0:
            return self._rest(ipu, int(mine.category[at]))
        one = slice(at, at + 1)
        return on_tiles(mine.first_tile[one], mine.tiles[one], mine.share[one], mine.bytes[one], self._tiles)

    def alive(self, ipu: int, step: int, always: bool) -> Ints:
        """Rows of variables of an IPU that are alive in a program step; `always`: also those that always are."""
        mine = self._of(ipu)
        found = mine.alive(step)
        if not always:
            found &= ~mine.always
        return mine.rows[found]

    def _of(self, ipu: int) -> _OfIpu:
        if ipu not in self._known:
            rows = np.flatnonzero(self._frame.column("ipu") == ipu)
            taken = {
                name: self._frame.column(name)[rows]
                for name in self._frame.columns
                if self._frame.kind(name) == "i8"
            }
            share, count, size = taken["tile_bytes"], taken["tiles"], taken["bytes"]
            placed = share >= 0
            last = size - share * (count - 1)
            wrong = (count < 0) | (taken["first_tile"] < 0) | (taken["first_tile"] + count > self._tiles)
            wrong |= (share > 2**40) | (last < 0) | ((count == 0) & (size > 0))
            if bool(np.any(placed & wrong)):
                raise ValueError(f"variables of IPU {ipu} are on tiles that do not exist")
            if len(np.unique(taken["category"][~placed])) != int((~placed).sum()):
                raise ValueError(f"two variables of IPU {ipu} both have the rest of one use of memory")
            self._known[ipu] = _OfIpu(
                rows, taken["category"], size, taken["always_live"] > 0, taken["first_step"], taken["last_step"],
                taken["first_tile"], count, share,
            )  # fmt: skip
        return self._known[ipu]

    def _rest(self, ipu: int, category: int) -> Ints:
        if (ipu, category) not in self._rests:
            mine = self._of(ipu)
            here = (mine.category == category) & (mine.share >= 0) & mine.alive(self._peak_step(ipu))
            used = on_tiles(
                mine.first_tile[here], mine.tiles[here], mine.share[here], mine.bytes[here], self._tiles
            )
            left = self._tile_bytes(ipu).get(category, np.zeros(self._tiles, dtype=np.int64)) - used
            if int(left.min()) < 0:
                raise ValueError(f"variables of IPU {ipu} are larger than their use of memory")
            self._rests[ipu, category] = left
        return self._rests[ipu, category]
