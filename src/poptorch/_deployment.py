"""From poptorch's options to the chip model's words: where ops run, where tensors live, which system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tremula.program.stages import Mode, StageSummary
from tremula.schedule.deployment import Deployment, Location

from . import enums

if TYPE_CHECKING:
    from .options import Options

#: PopART's enum of automatic recomputation, in its order
_RECOMPUTE = ("none", "all", "norms", "all", "all")
#: share of tile memory that PopLibs' planners may use when nobody says otherwise
_DEFAULT_PROPORTION = 0.6


def deployment_of(options: Options, stages: StageSummary | None, training: bool) -> Deployment:
    """How a program compiled with `options` lies on the IPUs."""
    values = options.toDict()
    popart = options._Popart.options
    execution = _execution(stages)
    phased = execution.endswith("phased")
    return Deployment(
        execution=execution,
        ipus_per_replica=max(1, stages.ipus_per_replica) if stages is not None else 1,
        recompute=_recompute(popart.get("autoRecomputation"), execution, training),
        proportions={
            -1: _DEFAULT_PROPORTION,
            **values.get("available_memory_proportion", {}),
        },
        partials="fp16" if popart.get("partialsTypeMatMuls") == "half" else "fp32",
        weights=_location(values.get("location_weight"), off_chip=phased),
        optimizer_state=_location(values.get("location_optimizer"), off_chip=phased),
        accumulators=_location(values.get("location_accumulator"), off_chip=phased),
        activations=_location(values.get("location_activation"), off_chip=phased),
        io_tiles=values.get("numIOTiles", 0),
        prefetch_depth=popart.get("defaultPrefetchBufferingDepth", 1),
        overlap_io=values.get("numIOTiles", 0) > 0,
        synthetic_data=bool(popart.get("syntheticDataMode", 0)),
        returned_share=_returned_share(options, training),
    )


def _execution(stages: StageSummary | None) -> str:
    if stages is None:
        return "single"
    if stages.mode is Mode.PHASED:
        return "serial_phased" if stages.phase_groups == 1 else "parallel_phased"
    if len(stages.ipus_used) <= 1:
        return "single"
    return "pipelined" if stages.mode is Mode.PIPELINED else "sharded"


def _recompute(setting: int | None, execution: str, training: bool) -> str:
    """PopTorch turns recomputation on for pipelines that train; a setting of the user's goes first."""
    if not training:
        return "none"
    if setting is not None:
        return _RECOMPUTE[int(setting)]
    return "all" if execution == "pipelined" else "none"


def _returned_share(options: Options, training: bool) -> float | None:
    """Share of the micro-batches whose results go back; None: the chip model's own rule, one per call of training."""
    mode = enums.OutputMode(options.output_mode)
    if mode == enums.OutputMode.All:
        return 1.0
    if mode == enums.OutputMode.EveryN:
        return 1.0 / int(options.output_return_period)
    if mode == enums.OutputMode.Default or training:
        return None
    return 1.0 / int(options.device_iterations)  # Final and Sum


def _location(setting: dict[str, Any] | None, *, off_chip: bool) -> Location:
    if setting is None:
        return Location(on_chip=not off_chip)
    return Location(
        on_chip=bool(setting.get("onChip", not off_chip)),
        sharded=bool(setting.get("useReplicatedTensorSharding", 0)),
        smallest_elements=setting.get("minElementsForOffChip", Location.smallest_elements),
    )
