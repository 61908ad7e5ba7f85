"""Targets, devices, the device manager and the IPU model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tremula import log
from tremula.frontends.poplar import devices as _devices
from tremula.frontends.poplar.target import TargetFacts, TargetKind, of_host, of_version
from tremula.frontends.poplar.types import FLOAT, HALF, Type

from ._enums import RelativeSyncDelayType, TargetType
from ._snake import with_snake_case


@with_snake_case
class Target:
    """The chip that a program is compiled for."""

    def __init__(self, facts: TargetFacts) -> None:
        self.facts = facts

    @staticmethod
    def createCPUTarget(accurateHalf: bool = False, numIPUs: int = 1) -> Target:
        """A target that is the host."""
        return Target(replace(of_host(), accurate_half=bool(accurateHalf), ipus=numIPUs))

    @staticmethod
    def createIPUTarget(
        numIPUs: int, tilesOrType: int | str = "ipu2", opts: Mapping[str, str] | None = None
    ) -> Target:
        """A target with IPUs of a version, or with a number of tiles each."""
        if opts:
            log.no_effect(
                "options of createIPUTarget", "the links between virtual IPUs are those of their system"
            )
        if isinstance(tilesOrType, int):
            return Target(of_version("ipu2", TargetKind.IPU, numIPUs, tilesOrType))
        return Target(of_version(tilesOrType, TargetKind.IPU, numIPUs))

    def createVirtualTarget(self, numIPUs: int, tilesPerIPU: int) -> Target:
        """A target of the same chip with fewer IPUs or tiles."""
        return Target(replace(self.facts, ipus=numIPUs, tiles_per_ipu=tilesPerIPU))

    def getTargetType(self) -> TargetType:
        """The kind of target."""
        return self.facts.kind

    def getTargetArchString(self) -> str:
        """The version of the chip."""
        return self.facts.version

    def getTargetSystemString(self) -> str:
        """The version of the chip."""
        return self.facts.version

    def getNumIPUs(self) -> int:
        """The number of IPUs of the target."""
        return self.facts.ipus

    def getTilesPerIPU(self) -> int:
        """The number of tiles of an IPU."""
        return self.facts.tiles_per_ipu

    def getNumTiles(self) -> int:
        """The number of tiles of all IPUs."""
        return self.facts.tiles

    def getNumWorkerContexts(self) -> int:
        """The number of worker threads of a tile."""
        return self.facts.workers

    def getBytesPerTile(self) -> int:
        """Memory of a tile."""
        return self.facts.bytes_per_tile

    def getMemoryBytes(self) -> int:
        """Memory of all tiles."""
        return self.facts.bytes_per_tile * self.facts.tiles

    def getExchangeBytesPerCycle(self) -> int:
        """Bytes that a tile receives in a cycle."""
        return int(self.facts.exchange_bytes_per_cycle)

    def getMemcpyBytesPerCycle(self) -> int:
        """Bytes that a tile copies within itself in a cycle."""
        return self.facts.memcpy_bytes_per_cycle

    def getTileClockFrequency(self) -> float:
        """Cycles per second."""
        return self.facts.clock_hz

    def getTypeSize(self, type: Type) -> int:
        """Bytes of an element on the device."""
        return self.facts.type_size(type)

    def getVectorWidth(self, type: Type) -> int:
        """Elements of one load."""
        return self.facts.vector_width(type)

    def getFloatVectorWidth(self) -> int:
        """Elements of one load of floats."""
        return self.facts.vector_width(FLOAT)

    def getHalfVectorWidth(self) -> int:
        """Elements of one load of halves."""
        return self.facts.vector_width(HALF)

    def getDataPathWidth(self) -> int:
        """Bits of one load."""
        return self.facts.data_path_bytes * 8

    def getRptCountMax(self) -> int:
        """The largest count of the repeat instruction."""
        return self.facts.longest_repeat

    def getAtomicStoreGranularity(self) -> int:
        """The number of bytes of the smallest atomic store."""
        return self.facts.atomic_store_bytes

    def getTilesPerSharedExchangeBus(self) -> int:
        """Neighbouring tiles that share a bus."""
        return self.facts.tiles_per_exchange_bus

    def supportsExchangeBusSharing(self) -> bool:
        """Whether neighbouring tiles share a bus."""
        return self.facts.tiles_per_exchange_bus > 1

    def getInterleavedMemoryElementIndex(self) -> int:
        """The first memory element whose accesses are interleaved."""
        return self.facts.interleaved_memory_element

    def getMemoryElementOffsets(self) -> list[int]:
        """The first byte of each memory element of a tile."""
        return list(self.facts.memory_element_offsets())

    def getMaxIPUSyncDelay(self) -> int:
        """The longest delay between tiles of an IPU in a sync."""
        return self.facts.chip.sync_cycles

    def getFp16InFp16OutConvUnitsPerTile(self) -> int:
        """Accumulating units for half inputs and half partial sums."""
        return self.facts.chip.conv_units_half_half

    def getFp16InFp32OutConvUnitsPerTile(self) -> int:
        """Accumulating units for half inputs and single partial sums."""
        return self.facts.chip.conv_units_half_float

    def getFp32InFp32OutConvUnitsPerTile(self) -> int:
        """Accumulating units for single inputs and partial sums."""
        return self.facts.chip.conv_units_float

    def getConvUnitCoeffLoadBytesPerCycle(self) -> int:
        """Bytes of weights that the matrix engine loads in a cycle."""
        return self.facts.chip.conv_weight_bytes_per_cycle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.facts == other.facts

    def __hash__(self) -> int:
        return hash(self.facts)


@with_snake_case
class Device:
    """A device to load programs on. Without arguments, it is no device."""

    def __init__(self, core: _devices.Device | None = None) -> None:
        self.core = core

    @staticmethod
    def createCPUDevice() -> Device:
        """A device that is the host."""
        return Device(_devices.host_device())

    def _present(self) -> _devices.Device:
        if self.core is None:
            from ._exceptions import poplar_error

            raise poplar_error("this Device is empty: take one from a DeviceManager or an IPUModel")
        return self.core

    def getTarget(self) -> Target:
        """The target to compile for."""
        return Target(self._present().target)

    target = property(getTarget)

    def getId(self) -> int:
        """The id of the device."""
        return self._present().id

    def getDriverIDs(self) -> list[int]:
        """The ids of its IPUs."""
        return list(self._present().driver_ids)

    def createVirtualDevice(self, tilesPerIPU: int) -> Device:
        """This device with fewer tiles in each IPU."""
        return Device(self._present().part(int(tilesPerIPU)))

    def attach(self) -> bool:
        """Attach to the device. Returns whether that succeeded."""
        return self._present().attach()

    def detach(self) -> None:
        """Release the device."""
        self._present().detach()

    def isAttached(self) -> bool:
        """Whether this process is attached to the device."""
        return self._present().attached

    def supportsRemoteBuffers(self) -> bool:
        """Whether programs may use remote buffers. Always true here."""
        return True


@with_snake_case
class DeviceManager:
    """Finds devices."""

    @staticmethod
    def createDeviceManager() -> DeviceManager:
        """A device manager."""
        return DeviceManager()

    def getDevices(self, type: TargetType | None = None, requiredNumIPUs: int | None = None) -> list[Device]:
        """The devices of a kind with a number of IPUs. Without arguments, all devices."""
        return [Device(each) for each in _devices.devices(type, requiredNumIPUs)]

    def getDevice(self, deviceManagerId: int) -> Device:
        """The device with an id."""
        return Device(_devices.device(deviceManagerId))

    def getNumDevices(self) -> int:
        """The number of devices."""
        return len(_devices.devices())


@with_snake_case
class IPUModel:
    """A model of IPUs. Its figures may be changed before a device is created."""

    def __init__(self, IPUVersion: str = "ipu2", **figures: Any) -> None:
        facts = of_version(IPUVersion, TargetKind.IPU_MODEL)
        self.IPUVersion = IPUVersion
        self.numIPUs = facts.ipus
        self.tilesPerIPU = facts.tiles_per_ipu
        self.numWorkerContexts = facts.workers
        self.memoryBytesPerTile = facts.bytes_per_tile
        self.tileClockFrequency = facts.clock_hz
        self.exchangeBytesPerCycle = facts.exchange_bytes_per_cycle
        self.memcpyBytesPerCycle = facts.memcpy_bytes_per_cycle
        self.instructionBytes = facts.instruction_bytes
        self.interleavedMemoryElementIndex = facts.interleaved_memory_element
        self.minIPUSyncDelay = facts.min_ipu_sync_delay
        self.globalSyncCycles = facts.global_sync_cycles
        self.relativeSyncDelay = RelativeSyncDelayType.AUTO
        self.tilesPerSuperTile = 4
        self.supportsSuperTileSendReceive = False
        self.compileIPUCode = True
        for name, value in figures.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        # the last field is there when all are
        if "compileIPUCode" in self.__dict__ and name not in self.__dict__:
            raise AttributeError(f"IPUModel has no field {name!r}; it has {', '.join(self.__dict__)}")
        super().__setattr__(name, value)

    def createDevice(
        self, opts: Mapping[str, str] | None = None, accurateHalf: bool = False, id: int = 0
    ) -> Device:
        """Create a device with these figures. With `accurateHalf`, half is rounded as on the chip; otherwise it is
        computed as float."""
        if opts:
            log.no_effect("options of IPUModel.createDevice", "a model has no links to configure")
        if self.tilesPerSuperTile != 4 or self.supportsSuperTileSendReceive:
            log.no_effect("IPUModel's super tiles", "the chip model exchanges between single tiles")
        facts = of_version(self.IPUVersion, TargetKind.IPU_MODEL, self.numIPUs, self.tilesPerIPU)
        facts = replace(
            facts,
            workers=self.numWorkerContexts,
            bytes_per_tile=self.memoryBytesPerTile,
            clock_hz=float(self.tileClockFrequency),
            exchange_bytes_per_cycle=self.exchangeBytesPerCycle,
            memcpy_bytes_per_cycle=self.memcpyBytesPerCycle,
            instruction_bytes=self.instructionBytes,
            interleaved_memory_element=self.interleavedMemoryElementIndex,
            min_ipu_sync_delay=self.minIPUSyncDelay,
            global_sync_cycles=self.globalSyncCycles,
            relative_sync_delay=RelativeSyncDelayType(self.relativeSyncDelay).name,
            compile_code=bool(self.compileIPUCode),
            accurate_half=bool(accurateHalf),
        )
        return Device(_devices.model_device(facts))
