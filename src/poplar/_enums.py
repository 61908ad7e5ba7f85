"""The enumerations of Poplar, with the names of C++."""

from __future__ import annotations

from enum import Enum

from tremula.frontends.poplar.target import TargetKind as TargetType


class VariableMappingMethod(Enum):
    """The mapping of a new variable: none, or evenly over all tiles."""

    NONE = 0
    LINEAR = 1


class TensorCloneMethod(Enum):
    """Whether a clone keeps the order and the aliases of its tensor."""

    PRESERVE_ORDER_AND_ALIASES = 0
    CREATE_NEW_ORDER = 1
    PRESERVE_ORDER_UNLESS_ALIASES = 2
    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES = 3


class ReplicatedStreamMode(Enum):
    """Whether each replica gets its own data from a stream, or all get the same."""

    REPLICATE = 0
    BROADCAST = 1


class SyncType(Enum):
    """What a sync includes: the tiles of an IPU, all IPUs, or all replicas."""

    INTERNAL = 0
    EXTERNAL = 1
    GLOBAL = 2


class UpsampleMethod(Enum):
    """How `upsample` fills in elements."""

    REPEAT = 0


class CodeletFileType(Enum):
    """The type of a file of codelets."""

    PreprocessedAsmSource = 0
    AsmSource = 1
    CSource = 2
    CppSource = 3
    IrSource = 4
    Object = 5
    Auto = 6


class RelativeSyncDelayType(Enum):
    """Which delay between tiles an IPU model assumes in a sync."""

    AUTO = 0
    NO_DELAY = 1


__all__ = [
    "CodeletFileType",
    "RelativeSyncDelayType",
    "ReplicatedStreamMode",
    "SyncType",
    "TargetType",
    "TensorCloneMethod",
    "UpsampleMethod",
    "VariableMappingMethod",
]
