"""The chip of a placed program: the hardware data, with the figures that a program changed.

Programs may ask for chips that nobody has built. What they change replaces the figure of the hardware data; all else
stays that of the chip they started from.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.hardware.catalogue import smallest_system
from tremula.hardware.chip import Chip
from tremula.hardware.system import System
from tremula.schedule.links import sync_seconds

#: tiles of a row of the chip; signals take two cycles more for each row, on the way to a tile and back
#: (osmarks/ipu-stack, as the exchange latency of the chip's file)
TILES_PER_ROW = 64
CYCLES_PER_ROW = 2


@dataclass(frozen=True, kw_only=True)
class PlacedHardware:
    """The chip as the model of placed programs sees it."""

    #: with the tiles, the memory, the workers and the clock of the target
    chip: Chip
    #: of one replica
    ipus: int
    replicas: int = 1
    system: System
    exchange_bytes_per_cycle: float
    #: cycles for all tiles of an IPU to agree
    sync_cycles: float
    #: the same for all IPUs of a replica, or with the host
    global_sync_cycles: float
    #: whether code takes memory
    sized_code: bool = True

    @property
    def tiles(self) -> int:
        """Tiles of one replica."""
        return self.ipus * self.chip.tiles


def hardware_of(
    chip: Chip,
    *,
    ipus: int = 1,
    replicas: int = 1,
    exchange_bytes_per_cycle: float | None = None,
    min_sync_cycles: int | None = None,
    relative_sync_delay: bool = True,
    global_sync_cycles: int | None = None,
    sized_code: bool = True,
) -> PlacedHardware:
    """The hardware of each of `replicas` replicas of `ipus` IPUs; what is None stays that of the chip.

    The chip's sync has a part that is the same for all tiles and a part for the way to the farthest row.
    `relative_sync_delay` false takes that away; `min_sync_cycles` replaces the part that is the same.
    """
    system = smallest_system(chip, ipus * replicas)
    way = min(2 * CYCLES_PER_ROW * -(-chip.tiles // TILES_PER_ROW), chip.sync_cycles)
    fixed = chip.sync_cycles - way if min_sync_cycles is None else min_sync_cycles
    sync = float(fixed + (way if relative_sync_delay else 0))
    between = sync_seconds(system, max(ipus * replicas, 2)) * chip.clock_hz
    return PlacedHardware(
        chip=chip,
        ipus=ipus,
        replicas=replicas,
        system=system,
        exchange_bytes_per_cycle=float(exchange_bytes_per_cycle or chip.exchange_bytes_per_cycle),
        sync_cycles=sync,
        global_sync_cycles=sync + between if global_sync_cycles is None else float(global_sync_cycles),
        sized_code=sized_code,
    )
