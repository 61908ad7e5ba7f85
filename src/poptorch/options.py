"""`Options`: everything that can be set about how a model is compiled and run.

Names, argument names, defaults and the classes of the errors are those of the public API. The engine implements the
options. An option without effect is reported once, when a model is compiled.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any, Self

import torch

from tremula.device.progress import ProgressBar
from tremula.errors import Error
from tremula.settings import env

from . import _options_effects, _options_impl, _options_text, enums
from ._logging import logger
from ._options_groups import (
    TensorLocationSettings,
    _DistributedOptions,
    _JitOptions,
    _PopartOptions,
    _PrecisionOptions,
    _TensorLocationOptions,
    _TrainingOptions,
)
from ._options_text import ConfigFileError
from ._strategies import (
    ParallelPhasedExecution,
    Phase,
    PipelinedExecution,
    SerialPhasedExecution,
    ShardedExecution,
    Stage,
    _IExecutionStrategy,
    _IPhasedExecution,
)

__all__ = [
    "ConfigFileError",
    "Options",
    "ParallelPhasedExecution",
    "Phase",
    "PipelinedExecution",
    "SerialPhasedExecution",
    "ShardedExecution",
    "Stage",
    "TensorLocationSettings",
    "_DistributedOptions",
    "_IExecutionStrategy",
    "_IPhasedExecution",
    "_JitOptions",
    "_PopartOptions",
    "_PrecisionOptions",
    "_TensorLocationOptions",
    "_TrainingOptions",
]

_NO_LIMIT = (1 << 64) - 1


class Options(_options_impl.OptionsDict):
    """Settings of one or more models. Every setter returns the object, so that calls can be chained.

    A model or data loader that uses the options freezes them. `clone()` gives a copy that can be changed.
    """

    def __init__(self) -> None:
        self._jit = _JitOptions()
        self._popart = _PopartOptions()
        self._graphProcessing = _PrecisionOptions(self._popart)
        self._training = _TrainingOptions(self._popart)
        self._distributed = _DistributedOptions()
        self._tensor_locations = _TensorLocationOptions()
        self._execution_strategy: _IExecutionStrategy = PipelinedExecution()
        self._source_location_excludes = list(_options_impl.default_source_location_excludes)
        self._progress_bar = ProgressBar()
        self._relax_optimizer_checks = False
        self._show_compilation_progress_bar = True
        self._module_namescope_enabled = True
        super().__init__(
            replication_factor=1,
            input_group_size=1,
            input_cgt=enums.CommGroupType.Consecutive,
            broadcast_buffers=True,
            device_iterations=1,
            log_dir=".",
            max_repeat_logs=4,
            auto_round_num_ipus=False,
            anchored_tensors={},
            output_mode=enums.OutputMode.Default.value,
            output_return_period=1,
            connection_type=enums.ConnectionType.Always.value,
            sync_pattern=enums.SyncPattern.Full.value,
            available_memory_proportion={},
        )
        cache = env.get("POPTORCH_CACHE_DIR")
        if cache:
            logger.info("POPTORCH_CACHE_DIR is set: executables are cached in %s", cache)
            self.enableExecutableCaching(cache)
        _options_text.apply_json(self, env.get("POPTORCH_DEFAULT_OPTIONS"))

    # -- groups ------------------------------------------------------------------------------------------

    @property
    def Distributed(self) -> _DistributedOptions:
        """The number of processes of the run, and the index of this one."""
        return self._distributed

    @property
    def Jit(self) -> _JitOptions:
        """The remaining options of the former tracer."""
        return self._jit

    @property
    def Precision(self) -> _PrecisionOptions:
        """Options for number formats and rounding."""
        return self._graphProcessing

    @property
    def TensorLocations(self) -> _TensorLocationOptions:
        """Where tensors are stored."""
        return self._tensor_locations

    @property
    def Training(self) -> _TrainingOptions:
        """Options for training."""
        return self._training

    @property
    def _Popart(self) -> _PopartOptions:
        """Options of the layer below, by name."""
        return self._popart

    # -- how the work is divided -------------------------------------------------------------------------

    def deviceIterations(self, device_iterations: int) -> Self:
        """Set the number of iterations of the device's loop per call of the model (default: 1)."""
        return self.set(device_iterations=device_iterations)

    def replicationFactor(self, replication_factor: int) -> Self:
        """Set the number of copies of the model that run in parallel on different data (default: 1)."""
        return self.set(replication_factor=replication_factor)

    def inputReplicaGrouping(self, input_group_size: int, input_group_type: enums.CommGroupType) -> Self:
        """Give the replicas of a group the same input.

        Args:
            input_group_size: replicas per group; has to divide the replication factor, which is set before.
            input_group_type: Consecutive, Orthogonal, or NoGrouping for groups of one.
        """
        if input_group_type == enums.CommGroupType.NoGrouping:
            input_group_size, input_group_type = 1, enums.CommGroupType.Consecutive
        if input_group_type == enums.CommGroupType.All:
            raise ValueError("input_group_type cannot be All: each replica would get the same input")
        replicas = self.replication_factor
        if input_group_size > replicas:
            raise ValueError(
                f"input_group_size ({input_group_size}) cannot be larger than replication_factor ({replicas})"
            )
        if input_group_size < 1 or replicas % input_group_size:
            raise ValueError(
                f"input_group_size ({input_group_size}) must be a factor of replication_factor ({replicas})"
            )
        return self.set(input_group_size=input_group_size, input_cgt=input_group_type)

    def broadcastBuffers(self, broadcast_buffers: bool = True) -> Self:
        """Set whether replicas share the buffers of the model (default), or each has its own."""
        return self.set(broadcast_buffers=broadcast_buffers)

    def setExecutionStrategy(self, strategy: _IExecutionStrategy) -> Self:
        """Set how the blocks of a model on several IPUs run (default: pipelined)."""
        if not isinstance(strategy, _IExecutionStrategy):
            raise AssertionError(
                "setExecutionStrategy takes a strategy such as poptorch.PipelinedExecution(), not a "
                f"{type(strategy).__name__}"
            )
        self._execution_strategy = strategy
        return self

    def autoRoundNumIPUs(self, auto_round_num_ipus: bool = True) -> Self:
        """Reserve the next larger possible number of IPUs if the number that the model needs is not available."""
        return self.set(auto_round_num_ipus=auto_round_num_ipus)

    # -- what comes back ---------------------------------------------------------------------------------

    def outputMode(self, output_mode: enums.OutputMode, output_return_period: int | None = None) -> Self:
        """Set which results a call returns.

        Args:
            output_mode: All, Final, EveryN, Sum, or Default (Final when training, All otherwise).
            output_return_period: the N of EveryN; ignored with the other modes.
        """
        if not isinstance(output_mode, enums.OutputMode):
            raise AssertionError(
                f"outputMode takes a poptorch.OutputMode, not a {type(output_mode).__name__}"
            )
        if output_mode == enums.OutputMode.EveryN:
            positive = output_return_period is not None and output_return_period > 0
            if not positive:
                raise AssertionError("OutputMode.EveryN needs an output_return_period of 1 or more")
        elif output_return_period:
            logger.info("output_return_period is ignored: it is for OutputMode.EveryN, not %s", output_mode)
        return self.set(output_mode=output_mode.value, output_return_period=output_return_period or 1)

    def defaultOutputMode(self) -> bool:
        """Whether the output mode was left to the model."""
        return bool(self.output_mode == enums.OutputMode.Default)

    def anchorTensor(
        self,
        short_name: str,
        long_name: str,
        output_mode: enums.OutputMode | None = None,
        output_return_period: int | None = 1,
    ) -> None:
        """Make a tensor of the graph readable after a run.

        Args:
            short_name: name under which it is read.
            long_name: its name in the graph, as `getTensorNames()` lists it.
            output_mode: which of its values are kept; None for the mode of the outputs.
            output_return_period: the N of EveryN.
        """
        self.checkIsFrozen()
        period = output_return_period if output_mode == enums.OutputMode.EveryN else 1
        self.anchored_tensors[short_name] = [long_name, output_mode is None, output_mode, period]

    def updatableNamedBuffers(self, buffers: list[str]) -> Self:
        """Set the names of the buffers that `copyNamedBuffersToDevice()` copies."""
        self._popart.set("updatableNamedBuffers", buffers)
        return self

    # -- devices -----------------------------------------------------------------------------------------

    def connectionType(self, connection_type: enums.ConnectionType) -> Self:
        """Set when to attach to a device: Always (default), OnDemand or Never."""
        if not isinstance(connection_type, enums.ConnectionType):
            raise AssertionError(
                f"connectionType takes a poptorch.ConnectionType, not a {type(connection_type).__name__}"
            )
        return self.set(connection_type=connection_type.value)

    def useIpuModel(self, use_model: bool) -> Self:
        """Use the IPU model (True) or devices (False), whatever POPTORCH_IPU_MODEL says."""
        return self.createOrSet(use_model=use_model)

    def useIpuId(self, ipu_id: int) -> Self:
        """Use the device with this id. It must have the number of IPUs that the model needs."""
        if not isinstance(ipu_id, int):
            raise AssertionError(f"useIpuId takes a number, not a {type(ipu_id).__name__}")
        return self.createOrSet(ipu_id=ipu_id)

    def useOfflineIpuTarget(self, ipu_version: int = 2) -> Self:
        """Compile only, for a chip that need not be present: 1 (Mk1), 2 (Mk2) or 21 (Mk2 with FP8)."""
        self.connectionType(enums.ConnectionType.Never)
        return self.createOrSet(ipu_version=ipu_version)

    def syncPattern(self, sync_pattern: enums.SyncPattern) -> Self:
        """Set which IPUs synchronise with each other: Full (default), SinglePipeline or ReplicaAndLadder."""
        if not isinstance(sync_pattern, enums.SyncPattern):
            raise AssertionError(
                f"syncPattern takes a poptorch.SyncPattern, not a {type(sync_pattern).__name__}"
            )
        return self.set(sync_pattern=sync_pattern.value)

    def setAvailableMemoryProportion(self, available_memory_proportion: dict[str, float]) -> Self:
        """Set the share of its memory that each IPU may use for convolutions and matrix products.

        Args:
            available_memory_proportion: {"IPU0": 0.5, "IPU1": 0.3, ...}.
        """
        proportions = {}
        for key, proportion in available_memory_proportion.items():
            number = key.removeprefix("IPU")
            well_formed = key.startswith("IPU") and number.isdigit()
            if not well_formed:
                raise AssertionError(
                    f'Invalid key {key!r}: give memory proportions as {{"IPU0": 0.5}}, '
                    "with the number of the IPU after the letters"
                )
            proportions[int(number)] = proportion
        return self.set(available_memory_proportion=proportions)

    # -- numbers and data --------------------------------------------------------------------------------

    def randomSeed(self, random_seed: int) -> Self:
        """Seed the random numbers of the device, and torch's own on the host."""
        if not isinstance(random_seed, int):
            raise AssertionError(f"randomSeed takes a number, not a {type(random_seed).__name__}")
        self.checkIsFrozen()
        torch.manual_seed(random_seed)
        return self.createOrSet(random_seed=random_seed)

    def enableStableNorm(self, enabled: bool) -> Self:
        """Compute norms with a slower but more accurate algorithm."""
        self._popart.set("enableStableNorm", enabled)
        return self

    def enableSyntheticData(self, enabled: bool) -> Self:
        """Use normally distributed random data instead of the inputs, without any transfer."""
        self._popart.set("syntheticDataMode", 2 if enabled else 0)
        return self

    # -- compilation, logs, profiles ---------------------------------------------------------------------

    def enableExecutableCaching(self, path: str | None) -> Self:
        """Store compiled models in the folder `path` and reuse them. None turns the cache off."""
        if path is not None:
            self._popart.set("cachePath", path)
        self._popart.set("enableEngineCaching", path is not None)
        return self

    def showCompilationProgressBar(self, show: bool = True) -> Self:
        """Set whether a progress bar is shown during compilation (default: yes)."""
        self._show_compilation_progress_bar = show
        return self

    def relaxOptimizerAttributesChecks(self, relax: bool = True) -> Self:
        """Log ignored attributes of optimizers at level DEBUG instead of as a warning."""
        self._relax_optimizer_checks = relax
        return self

    def modelName(self, name: str) -> Self:
        """Set the name of the model. Its profile is written to a folder with that name."""
        return self.createOrSet(model_name=name)

    def logDir(self, log_dir: str) -> Self:
        """Set the folder for files that the lower layers write (default: the current one)."""
        return self.set(log_dir=log_dir)

    def maxRepeatLogs(self, max_lines: int | None) -> Self:
        """Set how often the same kind of line is logged before it is suppressed (default: 4; None: always)."""
        return self.set(max_repeat_logs=_NO_LIMIT if max_lines is None else max_lines)

    def logCycleCount(self, log_cycle_count: bool) -> Self:
        """Count the cycles of each run."""
        self._popart.set("instrumentWithHardwareCycleCounter", log_cycle_count)
        return self

    def enableProfiling(self, profile_dir: str | None = None) -> Self:
        """Write a profile of the compiled model.

        Args:
            profile_dir: folder for it (default: the current one). POPLAR_ENGINE_OPTIONS overrides it.
        """
        wanted = {
            "debug.allowOutOfMemory": "true",
            "autoReport.directory": profile_dir or ".",
            "autoReport.all": "true",
        }
        overridden = sorted(wanted.keys() & env.get("POPLAR_ENGINE_OPTIONS").keys())
        if overridden:
            logger.warning(
                "The environment variable POPLAR_ENGINE_OPTIONS sets %s, which overrides enableProfiling().",
                ", ".join(overridden),
            )
        engine_options = self._popart.options.get("engineOptions", {})
        self._popart.setEngineOptions({**engine_options, **wanted})
        return self

    def disableModuleNamescope(self) -> Self:
        """Do not prefix the names of ops with the names of modules."""
        self._module_namescope_enabled = False
        return self

    def sourceLocationExcludes(self, excludes: list[str]) -> Self:
        """Set the paths whose frames are not shown as the source location of an op."""
        self._source_location_excludes = excludes
        return self

    def appendToLocationExcludes(self, *excludes: str) -> Self:
        """Add paths to those of `sourceLocationExcludes`."""
        self._source_location_excludes = [*self._source_location_excludes, *excludes]
        return self

    # -- as text, as dictionary, as copy -----------------------------------------------------------------

    def loadFromFile(self, filepath: str | os.PathLike[str]) -> Self:
        """Apply a file with one call per line, such as `deviceIterations(4)`; `#` begins a comment.

        Arguments are literals, enumerations, and the classes of this module; a file cannot run code.

        Raises:
            ConfigFileError: a line cannot be read.
        """
        self.checkIsFrozen()
        _options_text.apply_file(self, filepath)
        return self

    def from_json(self, string: str) -> Self:
        """Apply a JSON object {dotted method name: argument or list of arguments}.

        Enumerations are written as strings, such as "ConnectionType.OnDemand".
        """
        settings = json.loads(string)
        if not isinstance(settings, dict):
            raise Error(
                f"Options as JSON must be an object of method names, not a {type(settings).__name__}."
            )
        _options_text.apply_json(self, settings)
        return self

    def toDict(self) -> dict[str, Any]:
        """All options in one dictionary, as the engine gets them. The output mode must be set."""
        if self.defaultOutputMode():
            raise AssertionError("An output mode must be set before the options become a dictionary")
        merged: dict[str, Any] = {**self._execution_strategy.backendOptions(), **self._popart.options}
        merged = self.update(merged)
        for group in (self._training, self._distributed, self._tensor_locations):
            merged = group.update(merged)
        if self._show_compilation_progress_bar:
            merged["compilation_progress_bar_fn"] = self._progress_bar
        return merged

    def clone(self) -> Self:
        """A deep copy that is not frozen."""
        return copy.deepcopy(self)

    def _report_options_without_effect(self) -> None:
        """Say, once per process and option, which of these options change nothing on this host."""
        _options_effects.report(self)

    def _shown(self) -> Mapping[str, Any]:
        groups = ("Distributed", "Jit", "Precision", "TensorLocations", "Training", "_Popart")
        return {**self._values, **{name: getattr(self, name) for name in groups}}
