"""The session options of PopART: name, kind, default and effect of each.

Names, kinds and defaults are public interface. An enumeration is named by its type, its default by the member; a
group of settings is named by its class. `python -m tremula.settings.session_page` writes the reference page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HONOURED = "honoured"
_CHIP = "recorded: for the chip model; it does not change results"
_NOT_FOLLOWED = "no effect: the chip model does not use it for sessions, and it does not change results"
_ORDER = "no effect: ops run in the order of the graph, without a scheduler"
_GRAPHS = "no effect: the graph is executed as it is, without merging, outlining or copying"
_CODE = "no effect: no code is compiled for tiles"
_STREAMS = "no effect: data stays in host memory; there are no streams to a device"
_DOT = "no effect: no graph is drawn; look at the profile or at _serializeIr instead"
_CHECKS = "no effect: it checks the compiler of the real stack"
_TRACKING = "no effect: the loss scale follows the gradients of float16 weights"
_WEIGHTS = "no effect: every weight is a tensor of the program, whether it changes or not"


@dataclass(frozen=True)
class SessionOption:
    """One option of a session, or one field of a group of settings."""

    name: str
    #: bool, int, float, str, strs, floats, dict, instrumentations; else an enumeration or a settings class
    kind: str
    default: Any
    effect: str

    @property
    def honoured(self) -> bool:
        return self.effect.startswith(HONOURED)

    @property
    def reason(self) -> str:
        """Why the option has no effect, or why it is recorded; empty if it is honoured."""
        return self.effect.partition(": ")[2]


def _rows(effect: str, *rows: tuple[str, str, Any]) -> tuple[SessionOption, ...]:
    return tuple(SessionOption(name, kind, default, effect) for name, kind, default in rows)


# fmt: off
OPTIONS: tuple[SessionOption, ...] = (
    *_rows(HONOURED,
        ("enableGradientAccumulation", "bool", False),
        ("accumulationFactor", "int", 1),
        ("accumulationAndReplicationReductionType", "ReductionType", "Sum"),
        ("meanAccumulationAndReplicationReductionStrategy", "MeanReductionStrategy", "Post"),
        ("enableReplicatedGraphs", "bool", False),
        ("replicatedGraphCount", "int", 1),
        ("automaticLossScalingSettings", "AutomaticLossScalingSettings", None),
        ("syntheticDataMode", "SyntheticDataMode", "Off"),
        ("instrumentWithHardwareCycleCounter", "bool", False),
        ("groupNormStridedChannelGrouping", "bool", False),
        ("constantWeights", "bool", True),
        ("engineOptions", "dict", None),
    ),
    *_rows("honoured: `getRNGState` and `setRNGState` need it; the state is that of random ops",
        ("enableLoadAndOffloadRNGState", "bool", False),
    ),
    *_rows("honoured: sets which replicas of the run are in this instance; gradients are summed over all of them",
        ("enableDistributedReplicatedGraphs", "bool", False),
        ("globalReplicationFactor", "int", 1),
        ("globalReplicaOffset", "int", 0),
    ),
    *_rows("no effect: values are not checked while sessions run; NaN and infinity are allowed",
        ("enableFloatingPointChecks", "bool", False),
    ),
    *_rows("no effect: sessions always round to nearest",
        ("enableStochasticRounding", "bool", False),
    ),
    *_rows("no effect: 64-bit types are always computed as 32-bit ones, as with the default",
        ("enableSupportedDataTypeCasting", "bool", True),
    ),
    *_rows("no effect: any weight can be written",
        ("updatableNamedBuffers", "strs", ()),
    ),
    *_rows("honoured: stores the program (on IPUs) and compiled code of captured graphs, and finds them again",
        ("enableEngineCaching", "bool", False),
        ("cachePath", "str", "session_cache"),
    ),
    *_rows("honoured: whether files of executables contain weights and optimizer state",
        ("enableVariablesCaching", "bool", True),
    ),
    *_rows("honoured: checked against the other options; it does not change results",
        ("executionPhaseSettings", "ExecutionPhaseSettings", None),
        ("batchSerializationSettings", "BatchSerializationSettings", None),
        ("createImplicitPipeliningFwdOnlyProgram", "bool", False),
    ),
    *_rows("honoured: the IPUs' shares of the memory in VirtualGraphMode.Auto",
        ("virtualGraphSplitRatios", "floats", ()),
    ),
    *_rows("honoured: by the chip model and `_serializeIr`; results do not change",
        ("virtualGraphMode", "VirtualGraphMode", "Off"),
    ),
    *_rows("honoured: without it, reports are refused, but sessions still run",
        ("compileEngine", "bool", True),
    ),
    *_rows("honoured: checked, and listed by `_serializeIr`; it does not change results",
        ("useHostCopyOps", "bool", False),
    ),
    *_rows("honoured: by the chip model and `_serializeIr`; it does not change results",
        ("enablePipelining", "bool", False),
        ("autoRecomputation", "RecomputationType", "NoRecompute"),
    ),
    *_rows("honoured: checked together with useHostCopyOps; it does not change results",
        ("enableExplicitMainLoops", "bool", False),
    ),
    *_rows(_CHIP,
        ("activationTensorLocationSettings", "TensorLocationSettings", None),
        ("weightTensorLocationSettings", "TensorLocationSettings", None),
        ("optimizerStateTensorLocationSettings", "TensorLocationSettings", None),
        ("accumulatorTensorLocationSettings", "TensorLocationSettings", None),
        ("numIOTiles", "int", 0),
        ("defaultBufferingDepth", "int", 1),
        ("partialsTypeMatMuls", "str", ""),
    ),
    *_rows(_NOT_FOLLOWED,
        ("tensorLocationSettingsOverride", "dict", None),
        ("enablePrefetchDatastreams", "bool", True),
        ("bufferingDepthMap", "dict", None),
        ("enableFullyConnectedPass", "bool", True),
        ("convolutionOptions", "dict", None),
        ("matmulOptions", "dict", None),
        ("lstmOptions", "dict", None),
        ("gclOptions", "dict", None),
        ("replicatedCollectivesSettings", "ReplicatedCollectivesSettings", None),
        ("enableStableNorm", "bool", False),
        ("enableNonStableSoftmax", "bool", False),
    ),
    *_rows("no effect: an older name of defaultBufferingDepth, which it sets",
        ("defaultPrefetchBufferingDepth", "int", 1),
    ),
    *_rows("no effect: an older name of bufferingDepthMap, which it sets",
        ("prefetchBufferingDepthMap", "dict", None),
    ),
    *_rows("no effect: no layer writes its own files",
        ("logDir", "str", ""),
    ),
    *_rows(_DOT,
        ("dotChecks", "strs", ()),
        ("firstDotOp", "int", 0),
        ("finalDotOp", "int", 10000),
        ("dotOpNames", "bool", False),
        ("separateCallOpPdfs", "bool", True),
        ("exportPoplarComputationGraph", "bool", False),
        ("exportPoplarVertexGraph", "bool", False),
    ),
    *_rows("no effect: a report always contains everything in the profile",
        ("reportOptions", "dict", None),
    ),
    *_rows("honoured: sets which cycle counts can be requested; they are modelled",
        ("hardwareInstrumentations", "instrumentations", ("Outer",)),
    ),
    *_rows(_GRAPHS,
        ("explicitRecomputation", "bool", False),
        ("enableOutlining", "bool", True),
        ("enableOutliningCopyCostPruning", "bool", True),
        ("outlineThreshold", "float", 1.0),
        ("outlineSequenceBreakCost", "float", 10000.0),
        ("subgraphCopyingStrategy", "SubgraphCopyingStrategy", "OnEnterAndExit"),
        ("aliasZeroCopy", "bool", False),
        ("useLoopCandidateCreator", "bool", False),
        ("mergeVarUpdate", "MergeVarUpdateType", "Off"),
        ("mergeVarUpdateMemThreshold", "int", 1000000),
        ("stashAllTensorsInferencePipeline", "bool", False),
        ("enableConstantFoldingOfMultipleConsumers", "bool", True),
        ("decomposeGradSum", "bool", False),
    ),
    *_rows(_ORDER,
        ("accumulateOuterFragmentSettings", "AccumulateOuterFragmentSettings", None),
        ("delayVarUpdates", "bool", True),
        ("scheduleNonWeightUpdateGradientConsumersEarly", "bool", False),
        ("kahnTieBreaker", "str", "greedy"),
        ("timeLimitScheduler", "float", 1e9),
        ("swapLimitScheduler", "int", 1000000000),
        ("transitiveClosureOptimizationThreshold", "int", 100000),
        ("serializedPoprithmsShiftGraphsDir", "str", ""),
        ("serializedPoprithmsAnnealGraphsDir", "str", ""),
        ("enableEfficientOverlapIOTopoCons", "bool", False),
    ),
    *_rows(_STREAMS,
        ("rearrangeAnchorsOnHost", "bool", True),
        ("rearrangeStreamsOnHost", "bool", False),
        ("groupHostSync", "bool", False),
        ("enableMergeExchange", "bool", True),
    ),
    *_rows(_WEIGHTS,
        ("disableGradAccumulationTensorStreams", "bool", False),
        ("disableOptimizerStateTensorStreams", "bool", False),
    ),
    *_rows(_CODE,
        ("customCodeletCompileFlags", "str", ""),
        ("experimentalSettings", "ExperimentalSettings", None),
    ),
    *_rows(
        "no effect: compile a library of operators (`tremula cpp enable`) or use register_custom_op",
        ("customCodelets", "strs", ()),
    ),
    *_rows(_CHECKS,
        ("strictOpVersions", "bool", True),
        ("opxAliasChecking", "bool", False),
        ("opxModifyChecking", "bool", False),
        ("enableInplaceAmbiguityChecking", "bool", False),
    ),
    *_rows("no effect: the state of random numbers is always kept",
        ("_enableRngStateManagement", "bool", False),
    ),
    *_rows("no effect: loss scales are always float32 here",
        ("ensureFp32LossScaleTensor", "bool", False),
    ),
    *_rows("no effect: 8-bit floating-point types are not supported",
        ("throwIfLog2ScaleTensorNotInRange", "bool", True),
    ),
)

#: groups of settings: class -> fields, in the order of their constructors
SETTINGS: Mapping[str, tuple[SessionOption, ...]] = {
    "AutomaticLossScalingSettings": _rows(HONOURED,
        ("enabled", "bool", False),
    )
    + _rows(_TRACKING, ("toTrackTensors", "strs?", None))
    + _rows(HONOURED,
        ("binEdgeLocation", "float", 0.125),
        ("thresholdUpperCountProportion", "float", 1e-7),
        ("updatePeriod", "int", 1),
    )
    + _rows(_TRACKING,
        ("gradientTensorTrackingMethod", "GradientTensorTrackingMethod", "AllNonViewChangingGradientTensors"),
    ),
    "ReplicatedCollectivesSettings": _rows(_NOT_FOLLOWED,
        ("prepareScheduleForMergingCollectives", "bool", False),
        ("mergeAllReduceCollectives", "bool", False),
        ("mergeReduceScatterCollectives", "bool", False),
        ("mergeAllGatherCollectives", "bool", False),
    ),
    "BatchSerializationSettings": _rows(_NOT_FOLLOWED,
        ("factor", "int", 0),
        ("concatOnVirtualGraphChange", "bool", True),
        ("concatOnExecutionPhaseChange", "bool", True),
        ("concatOnPipelineStageChange", "bool", True),
        ("transformContext", "BatchSerializationTransformContext", "Fwd"),
        ("method", "BatchSerializationMethod", "UnrollDynamic"),
        ("batchSchedule", "BatchSerializationBatchSchedule", "Isomorphic"),
    ),
    "ExecutionPhaseSettings": _rows(_NOT_FOLLOWED,
        ("phases", "int", 0),
        ("stages", "int", 2),
        ("weightIOSchedule", "ExecutionPhaseIOSchedule", "Preload"),
        ("activationIOSchedule", "ExecutionPhaseIOSchedule", "Preload"),
        ("optimizerStateIOSchedule", "ExecutionPhaseIOSchedule", "OnDemand"),
        ("accumulatorIOSchedule", "ExecutionPhaseIOSchedule", "Preload"),
        ("schedule", "ExecutionPhaseSchedule", "Interleaving"),
    ),
    "AccumulateOuterFragmentSettings": _rows(_ORDER,
        ("schedule", "AccumulateOuterFragmentSchedule", "Serial"),
        ("excludedVirtualGraphs", "ints", ()),
    ),
    "AutodiffSettings": _rows(_GRAPHS,
        ("stitchStrategy", "AutodiffStitchStrategy", "RecomputeAllNonInputs"),
    ),
    "ExperimentalSettings": _rows(_CODE,
        ("customTransformApplierSettings", "dict", None),
        ("createHostTransferableTensorWithOffset", "bool", False),
    ),
}
# fmt: on

BY_NAME: Mapping[str, SessionOption] = {option.name: option for option in OPTIONS}
