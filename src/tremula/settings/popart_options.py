"""The options of the PopART layer and the front-end options that are passed with them, by name and type.

Names and types are public interface: programs set them with `Options._Popart.set`. The ranges of the enumerations are
those of PopART's public headers. `validate` raises an error for unknown options.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tremula import stack_layers
from tremula.errors import Error
from tremula.settings import engine_options

HONOURED = "honoured"
RECORDED = "recorded"
_SCHEDULE = "no effect: ops run in the order of the program, without a scheduler"
_CODE = "no effect: no code is compiled for tiles, so there is nothing to merge, outline or copy"
_STREAMS = "no effect: data stays in host memory; there are no streams to a device"
_DUMPS = "no effect: the graph is not drawn; see the profile instead"
_CHECKS = "no effect: it checks the compiler of the real stack"
_DERIVED = "no effect: other options determine it"


@dataclass(frozen=True)
class PopartOption:
    """One option: name, type, number of values of an enumeration, and its effect."""

    name: str
    kind: str
    effect: str
    size: int | None = None


def _rows(kind: str, effect: str, names: str) -> tuple[PopartOption, ...]:
    """Rows of one kind and effect; `name:3` is an enumeration of three values."""
    rows = []
    for word in names.split():
        name, _, size = word.partition(":")
        rows.append(PopartOption(name, kind, effect, int(size) if size else None))
    return tuple(rows)


BOOL, UINT, DOUBLE, STRING, CONTAINER = "bool", "uint64", "floating point", "string", "set / vector / map"

# fmt: off
OPTIONS: tuple[PopartOption, ...] = (
    *_rows(BOOL, HONOURED,
        "auto_round_num_ipus use_model broadcast_buffers enableFloatingPointChecks enableStochasticRounding "
        "instrumentWithHardwareCycleCounter enableEngineCaching automaticLossScalingSettings.enabled"),
    *_rows(BOOL, RECORDED,
        "serial_phases_execution separate_backward_phase enablePipelining enableOutlining enableSerializedMatmuls "
        "explicitRecomputation enablePrefetchDatastreams enableFullyConnectedPass enableStableNorm "
        "enableNonStableSoftmax replicatedCollectivesSettings.prepareScheduleForMergingCollectives "
        "replicatedCollectivesSettings.mergeAllReduceCollectives disableGradAccumulationTensorStreams "
        "disableOptimizerStateTensorStreams"),
    *_rows(UINT, HONOURED,
        "device_iterations num_distributed_processes distributed_process_id ipu_id gradient_accumulation "
        "output_return_period replication_factor input_group_size input_cgt:4 execution_mode:3 output_mode:4 "
        "connection_type:3 random_seed accumulation_and_replication_reduction_type:3 "
        "meanAccumulationAndReplicationReductionStrategy:3 automaticLossScalingSettings.updatePeriod "
        "syntheticDataMode:4"),
    *_rows(UINT, RECORDED,
        "tensors_liveness:4 ipu_version autoRecomputation:5 numIOTiles executionPhaseSettings.phases "
        "executionPhaseSettings.stages defaultBufferingDepth defaultPrefetchBufferingDepth "
        "subgraphCopyingStrategy:2 batchSerializationSettings.factor virtualGraphMode:4"),
    *_rows(UINT, "no effect: replicas and stages are computed one after the other, so none waits", "sync_pattern:3"),
    *_rows(UINT, "no effect: Tremula does not repeat log lines often", "max_repeat_logs"),
    *_rows(STRING, "no effect: no layer writes its own files", "log_dir"),
    *_rows(STRING, HONOURED, "cachePath model_name partialsTypeMatMuls"),
    *_rows(DOUBLE, HONOURED,
        "automaticLossScalingSettings.thresholdUpperCountProportion automaticLossScalingSettings.binEdgeLocation"),
    *_rows(CONTAINER, HONOURED, "engineOptions updatableNamedBuffers"),
    *_rows(DOUBLE, RECORDED, "outlineThreshold outlineSequenceBreakCost"),
    *_rows(CONTAINER, RECORDED, "convolutionOptions matmulOptions lstmOptions gclOptions"),
    *_rows(UINT, _SCHEDULE,
        "accumulateOuterFragmentSettings.schedule:4 batchSerializationSettings.transformContext:2 "
        "batchSerializationSettings.method:3 batchSerializationSettings.batchSchedule:4 swapLimitScheduler "
        "transitiveClosureOptimizationThreshold"),
    *_rows(BOOL, _SCHEDULE,
        "batchSerializationSettings.concatOnVirtualGraphChange "
        "batchSerializationSettings.concatOnExecutionPhaseChange "
        "batchSerializationSettings.concatOnPipelineStageChange delayVarUpdates "
        "scheduleNonWeightUpdateGradientConsumersEarly decomposeGradSum"),
    *_rows(DOUBLE, _SCHEDULE, "timeLimitScheduler"),
    *_rows(STRING, _SCHEDULE, "kahnTieBreaker serializedPoprithmsShiftGraphsDir"),
    *_rows(CONTAINER, _SCHEDULE, "accumulateOuterFragmentSettings.excludedVirtualGraphs"),
    *_rows(UINT, _CODE,
        "autodiffSettings.stitchStrategy:4 mergeVarUpdate:4 mergeVarUpdateMemThreshold looseThresholdAtPeak"),
    *_rows(BOOL, _CODE,
        "enableExplicitIR enableExplicitMainLoops useHostCopyOps aliasZeroCopy enableMergeExchange "
        "enableOutliningCopyCostPruning compileEngine constantWeights enableLoadAndOffloadRNGState "
        "enableSupportedDataTypeCasting ensureFp32LossScaleTensor groupNormStridedChannelGrouping"),
    *_rows(STRING, _CODE, "customCodeletCompileFlags"),
    *_rows(CONTAINER, _CODE, "customCodelets patterns"),
    *_rows(BOOL, _STREAMS, "rearrangeAnchorsOnHost rearrangeStreamsOnHost groupHostSync"),
    *_rows(UINT, _DUMPS, "firstDotOp finalDotOp compilationProgressTotal"),
    *_rows(BOOL, _DUMPS, "dotOpNames exportPoplarComputationGraph exportPoplarVertexGraph separateCallOpPdfs"),
    *_rows(CONTAINER, _DUMPS, "dotChecks reportOptions hardwareInstrumentations"),
    *_rows(BOOL, _CHECKS, "enableInplaceAmbiguityChecking strictOpVersions opxAliasChecking opxModifyChecking"),
    *_rows(UINT, _DERIVED,
        "accumulationFactor globalReplicationFactor globalReplicaOffset accumulationAndReplicationReductionType:3"),
    *_rows(BOOL, _DERIVED, "enableReplicatedGraphs enableGradientAccumulation enableDistributedReplicatedGraphs"),
    *_rows(STRING, "no effect: use Options.logDir instead", "logDir"),
    *_rows(STRING, "no effect: weights are never exported to a separate file", "saveInitializersToFile"),
    *_rows(UINT, "no effect: loss scaling always uses the gradients of float16 weights",
        "automaticLossScalingSettings.gradientTensorTrackingMethod:3"),
)
# fmt: on

_BY_NAME: Mapping[str, PopartOption] = {option.name: option for option in OPTIONS}

#: set on every new Options, so not set by the user
_DEFAULTS: Mapping[str, Any] = {
    "instrumentWithHardwareCycleCounter": False,
    "rearrangeAnchorsOnHost": False,
    "log_dir": ".",
    "sync_pattern": 0,
    "max_repeat_logs": 4,
}
#: if switched off, these are like options that were not set
_SWITCHES = ("enableStableNorm", "enableEngineCaching", "automaticLossScalingSettings.enabled")

#: methods of the public API through which users set an option, for messages
_PUBLIC_NAMES: Mapping[str, str] = {
    "enableFloatingPointChecks": "Options.Precision.enableFloatingPointExceptions",
    "enableStochasticRounding": "Options.Precision.enableStochasticRounding",
    "partialsTypeMatMuls": "Options.Precision.setPartialsType",
    "enableStableNorm": "Options.enableStableNorm",
    "automaticLossScalingSettings.enabled": "Options.Training.setAutomaticLossScaling",
    "cachePath": "Options.enableExecutableCaching",
    "max_repeat_logs": "Options.maxRepeatLogs",
    "enableEngineCaching": "Options.enableExecutableCaching",
    "sync_pattern": "Options.syncPattern",
    "log_dir": "Options.logDir",
    "model_name": "Options.modelName",
    "ipu_version": "Options.useOfflineIpuTarget",
}

_LOCATIONS = ("location_activation", "location_weight", "location_optimizer", "location_accumulator")
_LOCATION_KEYS = (
    "minElementsForOffChip", "minElementsForReplicatedTensorSharding", "onChip", "useReplicatedTensorSharding",
    "useIOTilesToLoad", "useIOTilesToStore",
)  # fmt: skip
#: options that are handled in Python, not in this layer
_NOT_PARSED = ("patterns_level", "anchored_tensors", "compilation_progress_bar_fn", "ipuof_configs")
_PATTERN_LEVELS = 4


def known(name: str) -> PopartOption | None:
    """The row of `name`, or None."""
    return _BY_NAME.get(name)


#: texts and containers that the file of a model may set; the others can name files, folders, programs and flags
_TEXTS_FROM_FILES = (
    "partialsTypeMatMuls",
    "kahnTieBreaker",
    "engineOptions",
    "updatableNamedBuffers",
    "convolutionOptions",
    "matmulOptions",
    "lstmOptions",
    "gclOptions",
    "patterns",
    "patterns_level",
    "accumulateOuterFragmentSettings.excludedVirtualGraphs",
    "hardwareInstrumentations",
)


def may_come_from_file(name: str) -> bool:
    """Whether the file of a model may set an option: numbers and switches may, texts only from a list."""
    option = known(name)
    if name in _TEXTS_FROM_FILES or name in _LOCATIONS or name == "available_memory_proportion":
        return True
    return option is not None and option.kind in (BOOL, UINT, DOUBLE) and name != "enableEngineCaching"


def public_name(name: str) -> str:
    """How the user most likely set the option `name`."""
    return _PUBLIC_NAMES.get(name, f"Options._Popart.set({name!r}, ...)")


def is_default(name: str, value: object) -> bool:
    """Whether `value` is the default of every new Options, or leaves a switch off."""
    if name in _DEFAULTS:
        return bool(value == _DEFAULTS[name])
    return value is False and name in _SWITCHES


def validate(options: Mapping[str, Any], log_line: Callable[[str], None] = lambda _line: None) -> None:
    """Check a dictionary of options; raises Error for an unknown one, a wrong type, or a value out of range.

    `log_line` is called with a line for each option, as the real stack logs them when it reads them.
    """
    for name, value in options.items():
        if name in _NOT_PARSED:
            continue
        if name in _LOCATIONS:
            for key, number in _entries(name, value):
                if key not in _LOCATION_KEYS:
                    raise _error(
                        f"Unknown option {key} for tensor location {name}.{_nearest(key, _LOCATION_KEYS)}"
                    )
                log_line(f"set {name}[{key}] to {number}")
        elif name == "available_memory_proportion":
            for ipu, share in _entries(name, value):
                log_line(f"set {name}[{ipu}] to {share}")
        elif name == "patterns":
            _validate_patterns(options, value)
        elif isinstance(value, dict):
            _container(name, value)
            pairs = engine_options.validate(value, "engineOptions") if name == "engineOptions" else value
            for key, entry in pairs.items():
                log_line(f"set {name}[{key}] to {entry}")
        elif isinstance(value, (set, frozenset, list, tuple)):
            _container(name, value)
            for entry in value:
                log_line(f"added {entry} to {name}")
        else:
            _validate_scalar(name, value)
            log_line(f"set {name} to value {_shown(value)}")


def _validate_scalar(name: str, value: Any) -> None:
    if isinstance(value, bool):
        kind = BOOL
    elif isinstance(value, float):
        kind = DOUBLE
    elif isinstance(value, int):
        kind = UINT
    elif isinstance(value, str):
        kind = STRING
    else:
        raise _error(
            f"Unknown value type {type(value).__name__} for option {name}: use a bool, a number, a string, "
            "a list or set of strings, or a dict of strings."
        )
    option = _expect(name, kind)
    if kind == UINT and value < 0:
        raise _error(f"The value {value} of the option {name} is negative.")
    if option.size is not None and value >= option.size:
        raise _error(
            f"The value {value} of the option {name} is out of range: it takes 0 to {option.size - 1}."
        )


def _container(name: str, value: Any) -> None:
    option = _expect(name, CONTAINER)
    if option.name == "hardwareInstrumentations":
        for entry in value:
            if str(entry) not in ("0", "1"):
                raise _error(f"The value {entry} of the option {name} is out of range: it takes 0 and 1.")
    elif option.name == "accumulateOuterFragmentSettings.excludedVirtualGraphs":
        for entry in value:
            if not str(entry).isdigit():
                raise _error(f"The value {entry!r} of the option {name} is not the number of an IPU.")


def _expect(name: str, kind: str) -> PopartOption:
    option = _BY_NAME.get(name)
    if option is None:
        raise _error(f"Unknown {kind} option {name}.{_nearest(name, _BY_NAME)}")
    if option.kind != kind:
        raise _error(
            f"Unknown {kind} option {name}: the option of that name takes a value of type {option.kind}."
        )
    return option


def _validate_patterns(options: Mapping[str, Any], patterns: Any) -> None:
    level = options.get("patterns_level")
    if level is None:
        raise _error("The option patterns needs patterns_level: use Options._Popart.setPatterns for both.")
    if not isinstance(level, int) or not 0 <= level < _PATTERN_LEVELS:
        raise _error(
            f"The value {level} of patterns_level is out of range: it takes 0 to {_PATTERN_LEVELS - 1}."
        )
    for name, enabled in _entries("patterns", patterns):
        if not isinstance(enabled, bool):
            raise _error(f"The pattern {name} is set to {enabled!r}: patterns take True or False.")


def _entries(name: str, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise _error(f"Unknown value type {type(value).__name__} for option {name}: it takes a dict.")
    return list(value.items())


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{int(value)}" if isinstance(value, int) else f"{value}"


def _nearest(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _error(message: str) -> Error:
    return Error(message, type=stack_layers.COMPILED_ERROR)
