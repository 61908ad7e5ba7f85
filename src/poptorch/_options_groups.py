"""The groups of options below `Options`: training, precision, JIT, distribution, tensor locations, PopART."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import torch

from tremula.errors import Error

from . import enums
from ._logging import logger
from ._options_impl import Freezable, OptionsDict

_PARTIALS = {torch.float32: "float", torch.float16: "half"}


class _PopartOptions(Freezable):
    """Options of the layer below, by their name there.

    A name or value that the layer does not know is only found when the options are validated, at
    compilation.
    """

    def __init__(self) -> None:
        self._is_frozen = False
        self.options: dict[str, Any] = {
            "instrumentWithHardwareCycleCounter": False,
            "rearrangeAnchorsOnHost": False,
        }

    def set(self, key: str, value: Any) -> Self:
        """Set one option.

        Args:
            key: its name; members of a structure are written with a dot.
            value: a bool, number, string, list or set of strings, or dictionary of strings.
        """
        self.checkIsFrozen()
        self.options[key] = value
        return self

    def setEngineOptions(self, engine_options: Mapping[str, str]) -> Self:
        """Set the options of the Poplar engine, all at once."""
        return self.set("engineOptions", engine_options)

    def setPatterns(self, patterns: Mapping[str, bool], level: int = 2) -> Self:
        """Choose graph patterns.

        Args:
            patterns: name of a pattern -> whether it is applied.
            level: the set to start from: 0 none, 1 the least, 2 the usual ones, 3 all.
        """
        if not isinstance(level, int):
            raise AssertionError(f"level is a number from 0 to 3, not a {type(level).__name__}")
        if not isinstance(patterns, dict):
            raise AssertionError(f"patterns is a dict of name: bool, not a {type(patterns).__name__}")
        self.set("patterns_level", level)
        return self.set("patterns", patterns)

    def __setattr__(self, name: str, value: Any) -> None:
        self.checkIsFrozen(name)
        super().__setattr__(name, value)

    def _shown(self) -> Mapping[str, Any]:
        return self.options


class _JitOptions(OptionsDict):
    """Options of the former tracer: `Options.Jit`."""

    def traceModel(self, trace_model: bool) -> Self:
        """Deprecated: there is only one way to capture models; True raises ValueError."""
        logger.warning("[Deprecated] options.Jit.traceModel() no longer has an effect. Remove the call.")
        if trace_model:
            raise ValueError("options.Jit.traceModel(True) is no longer supported: remove the call")
        return self


class _PrecisionOptions(OptionsDict):
    """Options about numbers: `Options.Precision`."""

    _popart_options: _PopartOptions

    def __init__(self, popart_options: _PopartOptions) -> None:
        self._popart_options = popart_options
        super().__init__()

    def halfFloatCasting(self, half_float_casting: enums.HalfFloatCastingBehavior) -> Self:
        """Deprecated and without effect: mixed types are promoted as torch does."""
        logger.warning(
            "[Deprecated] options.Precision.halfFloatCasting() no longer has an effect: mixed types follow "
            "torch's rules. Remove the call."
        )
        return self

    def runningStatisticsAlwaysFloat(self, value: bool) -> Self:
        """Deprecated and without effect: running statistics have the type that the module gives them."""
        if not isinstance(value, bool):
            raise ValueError("runningStatisticsAlwaysFloat takes a bool")
        logger.warning(
            "[Deprecated] options.Precision.runningStatisticsAlwaysFloat() no longer has an effect: running "
            "statistics keep their type in torch. Remove the call."
        )
        return self

    def enableFloatingPointExceptions(self, enabled: bool) -> Self:
        """Stop with an error when a run divides by zero, overflows or meets a NaN (default: off)."""
        if not isinstance(enabled, bool):
            raise AssertionError("enableFloatingPointExceptions takes a bool")
        self._popart_options.set("enableFloatingPointChecks", enabled)
        return self

    def enableStochasticRounding(self, enabled: bool) -> Self:
        """Use stochastic rounding for float16 results (default: off)."""
        self._popart_options.set("enableStochasticRounding", enabled)
        return self

    def setPartialsType(self, dtype: torch.dtype) -> Self:
        """Type in which matrix products and convolutions keep their partial sums.

        Args:
            dtype: torch.float or torch.half.
        """
        if dtype not in _PARTIALS:
            raise ValueError(f"setPartialsType takes torch.float or torch.half, not {dtype}")
        self._popart_options.set("partialsTypeMatMuls", _PARTIALS[dtype])
        convolution = {**self._popart_options.options.get("convolutionOptions", {})}
        self._popart_options.set("convolutionOptions", {**convolution, "partialsType": _PARTIALS[dtype]})
        return self


class _TrainingOptions(OptionsDict):
    """Options for training: `Options.Training`."""

    _popart_options: _PopartOptions
    gradient_accumulation: int
    accumulation_and_replication_reduction_type: enums.ReductionType
    meanAccumulationAndReplicationReductionStrategy: enums.MeanReductionStrategy

    def __init__(self, popart_options: _PopartOptions) -> None:
        self._popart_options = popart_options
        super().__init__(
            gradient_accumulation=1,
            accumulation_and_replication_reduction_type=enums.ReductionType.Mean,
            meanAccumulationAndReplicationReductionStrategy=enums.MeanReductionStrategy.Post,
        )

    def gradientAccumulation(self, gradient_accumulation: int) -> Self:
        """Number of micro-batches per weight update (default: 1)."""
        return self.set(gradient_accumulation=gradient_accumulation)

    def accumulationAndReplicationReductionType(self, reduction_type: enums.ReductionType) -> Self:
        """How gradients of micro-batches and replicas are combined: Mean (default) or Sum."""
        if reduction_type not in (enums.ReductionType.Mean, enums.ReductionType.Sum) or not isinstance(
            reduction_type, enums.ReductionType
        ):
            raise ValueError(
                "accumulationAndReplicationReductionType must be set to poptorch.ReductionType.Mean or "
                f"poptorch.ReductionType.Sum, not {reduction_type!r}"
            )
        return self.set(accumulation_and_replication_reduction_type=reduction_type)

    def setMeanAccumulationAndReplicationReductionStrategy(
        self, mean_reduction_strategy: enums.MeanReductionStrategy
    ) -> Self:
        """Where the division of a mean takes place.

        Left alone it is Post, or Running for an optimiser that accumulates in float16.
        """
        return self.set(meanAccumulationAndReplicationReductionStrategy=mean_reduction_strategy)

    def setAutomaticLossScaling(self, enabled: bool) -> Self:
        """Adapt the loss scale to the size of the gradients while training (default: off)."""
        self._popart_options.set("automaticLossScalingSettings.enabled", enabled)
        return self

    def setConvolutionDithering(self, enabled: bool) -> Self:
        """Start the layout of each convolution on another tile, to even out memory (default: off)."""
        convolution = {**self._popart_options.options.get("convolutionOptions", {})}
        self._popart_options.set("convolutionOptions", {**convolution, "enableConvDithering": enabled})
        return self


class _DistributedOptions(OptionsDict):
    """The number and id of processes: `Options.Distributed`."""

    num_distributed_processes: int
    distributed_process_id: int

    def __init__(self) -> None:
        self._gcd_mappings: dict[int, Any] = {}
        super().__init__(num_distributed_processes=1, distributed_process_id=0, ipuof_configs={})
        self.setEnvVarNames("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")

    def disable(self) -> Self:
        """Treat this process as a separate run, although MPI started several."""
        return self.set(num_distributed_processes=1, distributed_process_id=0)

    def setEnvVarNames(self, var_num_processes: str, var_process_id: str) -> Self:
        """Take the number of processes and the id of this one from environment variables."""
        return self.configureProcessId(
            _number_from_environment(var_process_id, 0), _number_from_environment(var_num_processes, 1)
        )

    def configureProcessId(self, process_id: int, num_processes: int) -> Self:
        """Set the id of this process and the number of processes."""
        return self.set(distributed_process_id=process_id, num_distributed_processes=num_processes)

    @property
    def processId(self) -> int:
        """Id of this process, from 0."""
        return self.distributed_process_id

    @property
    def numProcesses(self) -> int:
        """Number of processes that work together."""
        return self.num_distributed_processes


def _number_from_environment(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise Error(
            f"The environment variable {name} is set to {text!r}, but must be a whole number."
        ) from None


class TensorLocationSettings(OptionsDict):
    """The location of one kind of tensors: on the tiles or in streaming memory, sharded or whole."""

    def minElementsForOffChip(self, min_elements: int) -> Self:
        """Tensors with fewer elements stay on the chip."""
        return self._number("minElementsForOffChip", min_elements)

    def minElementsForReplicatedTensorSharding(self, min_elements: int) -> Self:
        """Tensors with fewer elements are not sharded over replicas."""
        return self._number("minElementsForReplicatedTensorSharding", min_elements)

    def useOnChipStorage(self, use: bool | None = True) -> Self:
        """Keep the tensors on the chip (True) or in streaming memory (False); None uses the default."""
        if use is None:
            self.deleteIfExists("onChip")
            return self
        return self._flag("onChip", use)

    def useReplicatedTensorSharding(self, use: bool = True) -> Self:
        """Store only a part of each tensor on each replica."""
        return self._flag("useReplicatedTensorSharding", use)

    def useIOTilesToLoad(self, use: bool = True) -> Self:
        """Load the tensors through the I/O tiles."""
        return self._flag("useIOTilesToLoad", use)

    def useIOTilesToStore(self, use: bool = True) -> Self:
        """Store the tensors on the I/O tiles."""
        return self._flag("useIOTilesToStore", use)

    def _number(self, option: str, value: int) -> Self:
        if not isinstance(value, int):
            raise AssertionError(f"{option} takes a number of elements, not a {type(value).__name__}")
        return self.createOrSet(**{option: value})

    def _flag(self, option: str, value: bool) -> Self:
        if not isinstance(value, bool):
            raise AssertionError(f"{option} takes a bool, not a {type(value).__name__}")
        return self.createOrSet(**{option: int(value)})


class _TensorLocationOptions(OptionsDict):
    """The locations of a model's tensors: `Options.TensorLocations`."""

    def numIOTiles(self, num_tiles: int) -> Self:
        """Number of tiles per IPU reserved for input and output: an even number from 32 to 192."""
        fits = isinstance(num_tiles, int) and 32 <= num_tiles <= 192 and num_tiles % 2 == 0
        if not fits:
            raise AssertionError("numIOTiles must be an even number between 32 and 192.")
        return self.createOrSet(numIOTiles=num_tiles)

    def setActivationLocation(self, location: TensorLocationSettings) -> Self:
        """The location of activations."""
        return self._location("location_activation", location)

    def setWeightLocation(self, location: TensorLocationSettings) -> Self:
        """The location of weights."""
        return self._location("location_weight", location)

    def setOptimizerLocation(self, location: TensorLocationSettings) -> Self:
        """The location of the optimiser state."""
        return self._location("location_optimizer", location)

    def setAccumulatorLocation(self, location: TensorLocationSettings) -> Self:
        """The location of accumulated gradients."""
        return self._location("location_accumulator", location)

    def _location(self, option: str, location: TensorLocationSettings) -> Self:
        if not isinstance(location, TensorLocationSettings):
            raise AssertionError(
                f"a location is a poptorch.TensorLocationSettings, not a {type(location).__name__}"
            )
        return self.createOrSet(**{option: location.toDict()})
