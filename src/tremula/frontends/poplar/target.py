"""Targets: what a program asks about the chip that it is compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TargetKind(Enum):
    """What a target stands for."""

    IPU = "IPU"
    IPU_MODEL = "IPU_MODEL"
    CPU = "CPU"


@dataclass(frozen=True)
class TargetFacts:
    """The figures of a target. Those of a chip come from the hardware data; models may change any of them."""

    kind: TargetKind
    version: str = "ipu2"
    ipus: int = 1
    tiles_per_ipu: int = 1472
    workers: int = 6
    bytes_per_tile: int = 638_976
    clock_hz: float = 1.33e9
    exchange_bytes_per_cycle: float = 4.0
    memcpy_bytes_per_cycle: int = 8
    accurate_half: bool = True
    min_ipu_sync_delay: int | None = None
    global_sync_cycles: int | None = None
    relative_sync_delay: str = "AUTO"
    #: first element of the interleaved memory of a tile, in bytes
    interleaved_memory_element: int | None = None
    #: whether the size of the code is modelled as well
    compile_code: bool = True

    @property
    def tiles(self) -> int:
        """Tiles of all IPUs."""
        return self.ipus * self.tiles_per_ipu
