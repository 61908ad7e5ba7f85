"""Tensor locations: on the chip or in streaming memory, whole or sharded over replicas."""

from __future__ import annotations

from typing import Any

from ._enums import CommGroupType, ReplicatedTensorSharding, TensorStorage, TileSet
from ._exceptions import popart_exception


class ReplicaGrouping:
    """Replicas in groups of a size, each at a distance from the one before it in its group."""

    def __init__(self, numReplicas: int, stride: int = 1, groupSize: int | None = None) -> None:
        self._replicas, self._stride = int(numReplicas), int(stride)
        self._size = self._replicas if groupSize is None else int(groupSize)
        whole = self._replicas > 0 and self._stride > 0 and self._size > 0
        if self._size != 1 and not (whole and self._replicas % (self._stride * self._size) == 0):
            raise popart_exception(
                f"{self._replicas} replicas cannot form groups of {self._size} at a distance of {self._stride}."
            )

    def getNumReplicas(self) -> int:
        return self._replicas

    def getStride(self) -> int:
        return self._stride

    def getGroupSize(self) -> int:
        return self._size

    def getNumGroups(self) -> int:
        return self._replicas // self._size

    def getGroupAt(self, replica: int) -> int:
        """The group of a replica."""
        return replica // (self._stride * self._size) * self._stride + replica % self._stride

    def getIndexInGroupAt(self, replica: int) -> int:
        """The place of a replica in its group."""
        return replica % (self._stride * self._size) // self._stride

    def getReplicaAt(self, group: int, index: int = 0) -> int:
        """A replica of a group."""
        return group // self._stride * self._stride * self._size + group % self._stride + index * self._stride

    def getReplicasAt(self, group: int) -> list[int]:
        """The replicas of a group."""
        return [self.getReplicaAt(group, index) for index in range(self._size)]


class CommGroup:
    """Replicas that talk to each other: how they form groups, and how many are in one."""

    def __init__(self, type: CommGroupType = CommGroupType.All, replicaGroupSize: int = 0) -> None:
        self.type = type
        self.replicaGroupSize = replicaGroupSize

    def toReplicaGrouping(self, numReplicas: int) -> ReplicaGrouping:
        """The groups for this number of replicas."""
        size = self.replicaGroupSize
        if self.type is CommGroupType.All:
            return ReplicaGrouping(numReplicas, 1, numReplicas)
        if self.type is CommGroupType.Ungrouped or size == 1:
            return ReplicaGrouping(numReplicas, 1, 1)
        if self.type is CommGroupType.Consecutive:
            return ReplicaGrouping(numReplicas, 1, size)
        return ReplicaGrouping(numReplicas, numReplicas // size, size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommGroup) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class TensorLocation:
    """The memory of a tensor, the tiles that move it, and whether replicas share it out."""

    def __init__(self, *values: Any, **named: Any) -> None:
        self.storage = TensorStorage.OnChip
        self.loadTileSet = TileSet.Compute
        self.storageTileSet = TileSet.Compute
        self.replicatedTensorSharding = ReplicatedTensorSharding.Off
        self.shardingDomain = CommGroup()
        order = ["storage", "loadTileSet", "storageTileSet", "replicatedTensorSharding", "shardingDomain"]
        if len(values) >= 2 and isinstance(values[1], ReplicatedTensorSharding):
            order = ["storage", "replicatedTensorSharding", "shardingDomain"]
        if len(values) > len(order):
            raise TypeError(f"TensorLocation takes up to {len(order)} values, not {len(values)}.")
        for name, value in [*zip(order, values, strict=False), *named.items()]:
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        kinds: dict[str, type] = {
            "storage": TensorStorage,
            "loadTileSet": TileSet,
            "storageTileSet": TileSet,
            "replicatedTensorSharding": ReplicatedTensorSharding,
            "shardingDomain": CommGroup,
        }
        if name not in kinds:
            raise AttributeError(f"'TensorLocation' object has no attribute '{name}'", name=name, obj=self)
        if not isinstance(value, kinds[name]):
            raise TypeError(f"TensorLocation.{name} takes {kinds[name].__name__}, not {value!r}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorLocation) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}={value}" for name, value in vars(self).items() if name != "shardingDomain"
        )
        return f"TensorLocation({fields})"


class TensorLocationSettings:
    """The location of tensors of one kind, and the minimum size for it."""

    def __init__(
        self,
        location: TensorLocation | TensorStorage | None = None,
        minElementsForOffChip: int = 2,
        minElementsForReplicatedTensorSharding: int = 8192,
        *,
        storage: TensorStorage | None = None,
    ) -> None:
        location = storage if location is None else location
        if isinstance(location, TensorStorage):
            location = TensorLocation(location)
        self.location = TensorLocation() if location is None else location
        self.minElementsForOffChip = int(minElementsForOffChip)
        self.minElementsForReplicatedTensorSharding = int(minElementsForReplicatedTensorSharding)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("location", "minElementsForOffChip", "minElementsForReplicatedTensorSharding"):
            raise AttributeError(
                f"'TensorLocationSettings' object has no attribute '{name}'", name=name, obj=self
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorLocationSettings) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]
