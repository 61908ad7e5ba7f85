"""Every enumeration of the public API.

Names and numeric values are interface: programs write the names, option dictionaries and saved files hold
the values.
"""

from __future__ import annotations

import enum


class OutputMode(enum.IntEnum):
    """Which micro-batch results a call returns."""

    Final = 0  # the last one of each replica
    EveryN = 1  # those of every N-th device iteration
    All = 2  # every one
    Sum = 3  # their sum per replica
    Default = 4  # Final when training, All for inference


class ConnectionType(enum.IntEnum):
    """When a model attaches to a device."""

    Always = 0  # from the start
    OnDemand = 1  # once it is compiled
    Never = 2  # not at all: compile only


class ReductionType(enum.IntEnum):
    """How gradients of micro-batches and replicas are combined."""

    Sum = 0
    Mean = 1
    NoReduction = 2


class MeanReductionStrategy(enum.IntEnum):
    """Where the division of a mean reduction takes place."""

    Running = 0  # the accumulator always holds a mean
    Post = 1  # once, after everything is added up
    PostAndLoss = 2  # deprecated: over replicas in the loss, over micro-batches at the end


class SyncPattern(enum.IntEnum):
    """Which IPUs wait for each other when one of them talks to the host."""

    Full = 0
    SinglePipeline = 1
    ReplicaAndLadder = 2


class Liveness(enum.IntEnum):
    """When tensors leave the chip under phased execution."""

    AlwaysLive = 0
    OffChipAfterFwd = 1
    OffChipAfterFwdNoOverlap = 2
    OffChipAfterEachPhase = 3


class AutoStage(enum.IntEnum):
    """How blocks get a pipeline stage when the user names none."""

    SameAsIpu = 0  # the id of the IPU
    AutoIncrement = 1  # the next free number for each new block


class MultiConvPlanType(enum.IntEnum):
    """Whether the convolutions of a MultiConv run side by side or one after the other."""

    Parallel = 0
    Serial = 1


class CommGroupType(enum.IntEnum):
    """How replicas form groups."""

    All = 0  # one group
    Consecutive = 1  # neighbours
    Orthogonal = 2  # strided
    NoGrouping = 3  # each on its own


class VariableRetrievalMode(enum.IntEnum):
    """Which copies of a grouped variable come back to the host (1 is not in use)."""

    OnePerGroup = 0
    AllReplicas = 2


class DataLoaderMode(enum.IntEnum):
    """Where the data are loaded: in the calling process, or in a separate process."""

    Sync = 0
    Async = 1
    AsyncRebatched = 2  # as Async, and workers load pieces that are put together afterwards


class SharingStrategy(enum.IntEnum):
    """How the asynchronous data process starts and shares its dataset."""

    SharedMemory = 0
    FileSystem = 1
    Fork = 2
    ForkServer = 3


class HalfFloatCastingBehavior(enum.IntEnum):
    """Deprecated. It exists for old programs; torch's promotion rules apply."""

    FloatDowncastToHalf = 0
    HalfUpcastToFloat = 1
    Default = 2


class MatMulSerializationMode(enum.Enum):
    """The dimension along which a serialised matrix product is split."""

    InputChannels = "input_channels"
    ReducingDim = "reducing_dim"
    OutputChannels = "output_channels"
    Disabled = "none"


class OverlapMode(enum.Enum):
    """The loop with which the transfer of a tensor may overlap."""

    NoOverlap = "no_overlap"
    OverlapAccumulationLoop = "overlap_accumulation_loop"
    OverlapDeviceIterationLoop = "overlap_device_iteration_loop"
