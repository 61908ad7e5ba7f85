"""How elements are laid over tiles when nothing else decides it: in order, in whole vectors.

PopLibs gives each tile at least 128 bytes and whole vectors (lib/poputil/TileMapping.cpp, linear mapping). Here
the least share is exact, so that more elements never make a tile's share smaller.
"""

from __future__ import annotations

from typing import NamedTuple

from tremula.hardware.chip import Chip
from tremula.program.dtypes import item_bytes

#: bytes below which a tensor is not spread further
LEAST_BYTES_PER_TILE = 128


class Share(NamedTuple):
    """What the fullest tile holds."""

    elements: int
    tiles: int
    #: elements of the mean tile over those of the fullest
    balance: float


def ceil_div(dividend: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-dividend // divisor)


def spread(elements: int, dtype: str, chip: Chip) -> Share:
    """The share of the fullest tile of `chip`."""
    if elements <= 0:
        return Share(0, 0, 1.0)
    size = item_bytes(dtype)
    grain = max(1, chip.data_path_bytes // size)
    grains = ceil_div(elements, grain)
    share = max(ceil_div(grains, chip.tiles) * grain, LEAST_BYTES_PER_TILE // size)
    share = min(share, elements)
    used = ceil_div(elements, share)
    return Share(share, used, elements / (used * share))
