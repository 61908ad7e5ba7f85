"""How bytes lie on the tiles of one IPU.

A tensor is laid out linearly: every tile gets a whole number of 8-byte vectors and at least 128 bytes, from
tile 0 on (PopLibs lib/poputil/TileMapping.cpp). Large tensors thus cover all tiles evenly and small ones pile up
on the first, which is why the fullest tile has more than the mean: about 128 bytes per small tensor. All bytes
of a tensor are somewhere: the tiles sum to the total.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Tiles = NDArray[np.int64]

#: bytes that a tile gets at least, as long as there are any left
LEAST_BYTES = 128
#: bytes of which a tile gets whole multiples
GRAIN_BYTES = 8


def laid_out(sizes: Iterable[int], tiles: int) -> Tiles:
    """Bytes on each tile of tensors of `sizes` bytes."""
    array = np.fromiter(sizes, dtype=np.int64)
    return _linear(array, tiles)


def _linear(sizes: Tiles, tiles: int) -> Tiles:
    grains = -(-sizes // (tiles * GRAIN_BYTES)) * GRAIN_BYTES
    share = np.maximum(grains, LEAST_BYTES)
    full = sizes // share
    # as steps: `share` from tile 0 up to tile `full`, and what is left on the tile after
    steps = np.zeros(tiles + 1, dtype=np.int64)
    steps[0] += int(share[full > 0].sum())
    np.subtract.at(steps, full[full > 0], share[full > 0])
    on_tiles = np.cumsum(steps)[:tiles]
    rest = sizes - full * share
    np.add.at(on_tiles, np.minimum(full, tiles - 1), rest)
    return on_tiles


def same(per_tile: int, tiles: int, used: int | None = None) -> Tiles:
    """`per_tile` bytes on each of the first `used` tiles."""
    on_tiles = np.zeros(tiles, dtype=np.int64)
    on_tiles[: tiles if used is None else min(used, tiles)] = per_tile
    return on_tiles
