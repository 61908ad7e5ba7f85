"""Every enumeration of PopART, with the values of its public headers.

PopTorch programs pass them to `Options._Popart.set` as `int(popart.SyntheticDataMode.RandomNormal)`. Like those of
the compiled module they convert to int and compare equal to members of their own type only.
"""

from __future__ import annotations

import enum


class PopartEnum(enum.Enum):
    """A member converts to its value; it is not a number itself."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class AccumulateOuterFragmentSchedule(PopartEnum):
    """Order of the ops that run once per weight update."""

    Scheduler = 0
    Serial = 1
    OverlapCycleOptimized = 2
    OverlapMemoryOptimized = 3


class AdamMode(PopartEnum):
    """The optimizers of the Adam family."""

    Adam = 0
    AdamNoBias = 1
    AdaMax = 2
    Lamb = 3
    LambNoBias = 4


class AdaptiveMode(PopartEnum):
    """The optimizers that scale by a mean of squares."""

    AdaGrad = 0
    RMSProp = 1
    CenteredRMSProp = 2
    AdaDelta = 3


class AnchorReturnTypeId(PopartEnum):
    """The values of an anchored tensor that are returned to the host."""

    Final = 0
    EveryN = 1
    All = 2
    Sum = 3


class AutodiffStitchStrategy(PopartEnum):
    """Where the backward pass of a subgraph gets the forward values from."""

    RecomputeMinimal = 0
    RecomputeAllNonInputs = 1
    AddFwdOutputs = 2
    SafeAddFwdOutputs = 3


class BatchSerializationBatchSchedule(PopartEnum):
    """Order of the pieces of a serialised batch."""

    Scheduler = 0
    Isomorphic = 1
    OverlapOnIo = 2
    OverlapOnCompute = 3


class BatchSerializationMethod(PopartEnum):
    """How a batch is cut into pieces."""

    UnrollDynamic = 0
    UnrollStatic = 1
    Loop = 2


class BatchSerializationTransformContext(PopartEnum):
    """Whether a batch is cut before or after differentiation; both have two names."""

    Forward = 0
    Backward = 1
    Fwd = 0
    Bwd = 1


class CollectiveOperator(PopartEnum):
    """How a collective combines the values of replicas."""

    Add = 0
    Mean = 1
    Mul = 2
    Min = 3
    Max = 4
    LogicalAnd = 5
    LogicalOr = 6
    SquareAdd = 7
    Local = 8


class CommGroupType(PopartEnum):
    """How replicas form groups."""

    All = 0
    Consecutive = 1
    Orthogonal = 2
    Ungrouped = 3


class DataType(PopartEnum):
    """Types of tensor elements."""

    UINT8 = 0
    INT8 = 1
    FLOAT8_143 = 2
    FLOAT8_152 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    UINT32 = 8
    UINT64 = 9
    BOOL = 10
    FLOAT = 11
    FLOAT16 = 12
    BFLOAT16 = 13
    DOUBLE = 14
    COMPLEX64 = 15
    COMPLEX128 = 16
    STRING = 17
    UNDEFINED = 18


class DeviceConnectionType(PopartEnum):
    """When a session attaches to its device."""

    Always = 0
    OnDemand = 1
    Never = 2


class DeviceSelectionCriterion(PopartEnum):
    """Which free device is selected."""

    First = 0
    Random = 1


class DeviceType(PopartEnum):
    """Kinds of devices; as text they have short names."""

    IpuModel = 0
    Cpu = 1
    Ipu = 2
    OfflineIpu = 3
    Sim = 4

    def __str__(self) -> str:
        return {"IpuModel": "ipu-model", "OfflineIpu": "offline-ipu"}.get(self.name, self.name.lower())


class ExchangeStrategy(PopartEnum):
    """Whether transfers overlap with computation."""

    JustInTime = 0
    OverlapInnerLoop = 1
    OverlapLoops = 2
    OverlapStep = 3


class ExecutionPhaseIOSchedule(PopartEnum):
    """When a phase loads its tensors."""

    Preload = 0
    OnDemand = 1


class ExecutionPhaseSchedule(PopartEnum):
    """Order of loading, computing and storing in a phase."""

    Interleaving = 0
    Batch = 1
    BatchClusteredIO = 2


class GradientTensorTrackingMethod(PopartEnum):
    """The gradients that automatic loss scaling tracks."""

    AllNonViewChangingGradientTensors = 0
    ConvAndMatmulGradients = 1
    GradientsOfUserSpecifiedTensors = 2


class InitType(PopartEnum):
    """The initial values of a new tensor."""

    NoInit = 0
    Zero = 1


class Instrumentation(PopartEnum):
    """The loop that the cycle counter measures."""

    Outer = 0
    Inner = 1


class IrSerializationFormat(PopartEnum):
    """Formats in which a graph is written."""

    JSON = 0


class MeanReductionStrategy(PopartEnum):
    """When a mean over micro-batches and replicas is divided."""

    Running = 0
    Post = 1


class MergeVarUpdateType(PopartEnum):
    """Which weight updates are merged."""

    Off = 0
    All = 1
    AutoLoose = 2
    AutoTight = 3


class PatternsLevel(PopartEnum):
    """The set of graph patterns to start from."""

    NoPatterns = 0
    Minimal = 1
    Default = 2
    All = 3


class RecomputationType(PopartEnum):
    """The ops that are recomputed for the backward pass (the option autoRecomputation)."""

    NoRecompute = 0
    Standard = 1
    NormOnly = 2
    Pipeline = 3
    RecomputeAll = 4


class RecomputeType(PopartEnum):
    """Whether an op is recomputed in the backward pass."""

    Undefined = 0
    Checkpoint = 1
    Recompute = 2
    Recomputed = 3


class RecoveryAction(PopartEnum):
    """The recovery action after a fault. The values follow the order; no public header contains them."""

    IPU_RESET = 0
    LINK_RESET = 1
    PARTITION_RESET = 2
    FULL_RESET = 3


class ReductionType(PopartEnum):
    """How values are combined."""

    Sum = 0
    Mean = 1
    NoReduction = 2


class ReplicatedStreamMode(PopartEnum):
    """Whether replicas get the same data."""

    Broadcast = 0
    Replicate = 1


class ReplicatedTensorSharding(PopartEnum):
    """Whether replicas keep a part of a tensor each."""

    Off = 0
    On = 1


class ScatterReduction(PopartEnum):
    """How values that fall on one place are combined."""

    Sum = 0
    Max = 1
    Min = 2
    Mul = 3
    NoReduction = 4


class SGDAccumulatorAndMomentum(PopartEnum):
    """Whether SGD keeps one tensor for accumulator and momentum."""

    Combined = 0
    Separate = 1


class SubgraphCopyingStrategy(PopartEnum):
    """When the inputs and outputs of a subgraph are copied."""

    OnEnterAndExit = 0
    JustInTime = 1


class SyncPattern(PopartEnum):
    """Which IPUs synchronise with each other. As text, members begin with a lower-case letter."""

    Full = 0
    SinglePipeline = 1
    ReplicaAndLadder = 2

    def __str__(self) -> str:
        return self.name[0].lower() + self.name[1:]


class SyntheticDataMode(PopartEnum):
    """Replacement of data from the host."""

    Off = 0
    Zeros = 1
    RandomNormal = 2
    RandomUniform = 3


class TensorRemapType(PopartEnum):
    """In which passes a tensor gets a new tile layout."""

    FwdBwdReverse = 0
    FwdBwd = 1
    Fwd = 2


class TensorStorage(PopartEnum):
    """The location of a tensor."""

    OnChip = 0
    OffChip = 1


class TileSet(PopartEnum):
    """Tiles for computing, tiles for transfers."""

    Compute = 0
    IO = 1


class VariableRetrievalMode(PopartEnum):
    """The copies of a grouped variable that are returned to the host."""

    OnePerGroup = 0
    AllReduceReplicas = 1
    AllReplicas = 2


class VirtualGraphMode(PopartEnum):
    """How ops are placed on IPUs."""

    Off = 0
    Manual = 1
    Auto = 2
    ExecutionPhases = 3


class WeightDecayMode(PopartEnum):
    """Where weight decay enters the update."""

    Decay = 0
    L2Regularization = 1


__all__ = [
    "AccumulateOuterFragmentSchedule",
    "AdamMode",
    "AdaptiveMode",
    "AnchorReturnTypeId",
    "AutodiffStitchStrategy",
    "BatchSerializationBatchSchedule",
    "BatchSerializationMethod",
    "BatchSerializationTransformContext",
    "CollectiveOperator",
    "CommGroupType",
    "DataType",
    "DeviceConnectionType",
    "DeviceSelectionCriterion",
    "DeviceType",
    "ExchangeStrategy",
    "ExecutionPhaseIOSchedule",
    "ExecutionPhaseSchedule",
    "GradientTensorTrackingMethod",
    "InitType",
    "Instrumentation",
    "IrSerializationFormat",
    "MeanReductionStrategy",
    "MergeVarUpdateType",
    "PatternsLevel",
    "RecomputationType",
    "RecomputeType",
    "RecoveryAction",
    "ReductionType",
    "ReplicatedStreamMode",
    "ReplicatedTensorSharding",
    "SGDAccumulatorAndMomentum",
    "ScatterReduction",
    "SubgraphCopyingStrategy",
    "SyncPattern",
    "SyntheticDataMode",
    "TensorRemapType",
    "TensorStorage",
    "TileSet",
    "VariableRetrievalMode",
    "VirtualGraphMode",
    "WeightDecayMode",
]
