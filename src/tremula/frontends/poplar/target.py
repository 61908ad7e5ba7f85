"""Targets: what a program asks about the chip that it is compiled for.

The figures come from the hardware data; a model may change any of them, for a chip that nobody has built. What the data
do not have follows from the public library sources: the granularity of stores, the longest repeat, the strides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from tremula.errors import Error
from tremula.frontends.poplar.errors import InvalidMachineModel
from tremula.frontends.poplar.types import Type
from tremula.hardware import catalogue
from tremula.hardware.chip import Chip


class TargetKind(Enum):
    """What a target stands for."""

    IPU = 0
    IPU_MODEL = 1
    CPU = 2


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
    tiles_per_exchange_bus: int = 2
    data_path_bytes: int = 8
    instruction_bytes: int = 4
    memory_element_bytes: int = 16_384
    #: first memory element of a tile whose elements are interleaved
    interleaved_memory_element: int = 13
    accurate_half: bool = True
    min_ipu_sync_delay: int | None = None
    global_sync_cycles: int | None = None
    relative_sync_delay: str = "AUTO"
    #: whether the size of the code is modelled as well
    compile_code: bool = True
    #: name of the chip in the hardware data
    chip_name: str = "mk2"

    @property
    def tiles(self) -> int:
        """Tiles of all IPUs."""
        return self.ipus * self.tiles_per_ipu

    @property
    def chip(self) -> Chip:
        """The chip of the hardware data that these figures started from."""
        return catalogue.chip(self.chip_name)

    @property
    def atomic_store_bytes(self) -> int:
        """The smallest store that leaves its neighbours alone."""
        return 4

    @property
    def longest_repeat(self) -> int:
        """The largest count of the repeat instruction."""
        return 0xFFFF if self.version == "ipu21" else 0xFFF

    def type_size(self, type: Type) -> int:
        """Bytes of an element on the device."""
        return type.size

    def vector_width(self, type: Type) -> int:
        """Elements that one load or one vector instruction handles."""
        return max(1, self.data_path_bytes // type.size)

    def memory_element_offsets(self) -> tuple[int, ...]:
        """The first byte of each memory element of a tile."""
        return tuple(range(0, self.bytes_per_tile, self.memory_element_bytes))

    def share(self, replicas: int) -> TargetFacts:
        """The target of one of several replicas."""
        return replace(self, ipus=self.ipus // replicas)


def of_chip(chip: Chip, kind: TargetKind, ipus: int, tiles_per_ipu: int = 0) -> TargetFacts:
    """The figures of some IPUs of a chip; `tiles_per_ipu` 0: all of them."""
    plain = chip.tile_memory_bytes - chip.interleaved_memory_bytes
    return TargetFacts(
        kind,
        version=chip.architecture,
        ipus=ipus,
        tiles_per_ipu=tiles_per_ipu or chip.tiles,
        workers=chip.worker_contexts,
        bytes_per_tile=chip.tile_memory_bytes,
        clock_hz=chip.clock_hz,
        exchange_bytes_per_cycle=chip.exchange_bytes_per_cycle,
        memcpy_bytes_per_cycle=chip.memcpy_bytes_per_cycle,
        tiles_per_exchange_bus=chip.tiles_per_exchange_bus,
        data_path_bytes=chip.data_path_bytes,
        instruction_bytes=chip.instruction_bytes,
        memory_element_bytes=chip.memory_element_bytes,
        interleaved_memory_element=plain // chip.memory_element_bytes,
        chip_name=chip.name,
    )


def of_version(version: str, kind: TargetKind, ipus: int = 1, tiles_per_ipu: int = 0) -> TargetFacts:
    """The figures of IPUs of a version as programs name it: ipu1, ipu2 or ipu21."""
    try:
        chip = catalogue.chip_of_version(version)
    except Error as problem:
        raise InvalidMachineModel(problem.message) from None
    if ipus < 1 or tiles_per_ipu < 0:
        raise InvalidMachineModel(f"a target of {ipus} IPUs with {tiles_per_ipu} tiles each is not possible")
    return of_chip(chip, kind, ipus, tiles_per_ipu)


def of_host() -> TargetFacts:
    """The host as a target: one tile with one worker and no limit of memory."""
    return replace(
        of_version("ipu2", TargetKind.CPU, 1, 1),
        version="cpu",
        workers=1,
        bytes_per_tile=1 << 40,
        accurate_half=True,
    )
