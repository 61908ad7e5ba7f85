"""The system that a program was modelled for."""

from __future__ import annotations

from pva.enums import Architecture, TargetType
from pva.not_modelled import NotModelled
from pva.sequences import Numbers
from pva.source import Source

_ARCHITECTURES = {
    "mk1": Architecture.Ipu1,
    "mk2": Architecture.Ipu2,
    "bow": Architecture.Ipu2,
    "c600": Architecture.Ipu21,
}


class Target:
    """Sizes and clock of the system."""

    Type = TargetType

    def __init__(self, source: Source) -> None:
        self._target = source.target
        self._source = source

    @property
    def type(self) -> TargetType:
        """Always `IpuModel`, because no figure in these profiles was measured."""
        return TargetType.IpuModel

    @property
    def architecture(self) -> Architecture:
        """The generation of the chip."""
        return _ARCHITECTURES.get(self._target.chip, Architecture.Unknown)

    @property
    def numReplicas(self) -> int:
        """Copies of the model."""
        return int(self._target.replicas)

    @property
    def ipusPerReplica(self) -> int:
        """IPUs of each copy."""
        return int(self._target.ipus_per_replica)

    @property
    def numIPUs(self) -> int:
        """IPUs of all copies."""
        return self._source.ipus

    @property
    def tilesPerIpu(self) -> int:
        """Tiles of an IPU."""
        return int(self._target.tiles_per_ipu)

    @property
    def tilesPerReplica(self) -> int:
        """Tiles of a copy."""
        return self.ipusPerReplica * self.tilesPerIpu

    @property
    def numTiles(self) -> int:
        """Tiles of all copies."""
        return self._source.tiles

    @property
    def bytesPerTile(self) -> int:
        """Memory of a tile."""
        return int(self._target.tile_memory_bytes)

    @property
    def bytesPerIPU(self) -> int:
        """Memory of an IPU."""
        return self.bytesPerTile * self.tilesPerIpu

    @property
    def memoryPerReplica(self) -> int:
        """Memory of a copy."""
        return self.bytesPerIPU * self.ipusPerReplica

    @property
    def totalMemory(self) -> int:
        """Memory of all copies."""
        return self.bytesPerIPU * self.numIPUs

    @property
    def clockFrequency(self) -> float:
        """Cycles per second."""
        return float(self._target.clock_hz)

    @property
    def relativeSyncDelayByTile(self) -> Numbers:
        """Not modelled: a sync has the same duration on all tiles."""
        raise NotModelled("target.relativeSyncDelayByTile")

    @property
    def minSyncDelay(self) -> int:
        """Not modelled: a sync has the same duration on all tiles."""
        raise NotModelled("target.minSyncDelay")

    def __repr__(self) -> str:
        return f"Target({self._target.title!r}, {self.numIPUs} IPUs x {self.tilesPerIpu} tiles, modelled)"
