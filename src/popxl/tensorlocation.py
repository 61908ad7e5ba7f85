"""Where tensors are stored."""

from __future__ import annotations

from enum import Enum

import popart._internal.ir as _ir

TileSet = _ir.TileSet
ExecutionContext = _ir.ExecutionContext


class TensorStorage(Enum):
    """On the chip or outside of it."""

    OnChip = "OnChip"
    OffChip = "OffChip"


class ReplicatedTensorSharding(Enum):
    """Whether replicas share out the elements."""

    On = "On"
    Off = "Off"


class TensorLocation:
    """Storage and sharding of a tensor."""

    def __init__(
        self,
        storage: TensorStorage = TensorStorage.OnChip,
        replicated_tensor_sharding: ReplicatedTensorSharding = ReplicatedTensorSharding.Off,
    ) -> None:
        self._storage = storage
        self._sharding = replicated_tensor_sharding

    @property
    def storage(self) -> TensorStorage:
        """On the chip or outside of it."""
        return self._storage

    @property
    def replicated_tensor_sharding(self) -> ReplicatedTensorSharding:
        """Whether replicas share out the elements."""
        return self._sharding
