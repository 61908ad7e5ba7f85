"""From the options of a TensorFlow program to the chip model's words: where ops run, where tensors live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.config import active
from tremula.program.lowered import DEFAULT_PROPORTION
from tremula.program.stages import Mode, StageSummary
from tremula.schedule.deployment import Deployment, Location

_PROPORTION, _PARTIALS = "availableMemoryProportion", "partialsType"


def deployment_of(
    stages: StageSummary | None,
    training: bool,
    options: Mapping[str, Any],
    prefetch_depth: int | None = None,
    returned_share: float | None = None,
) -> Deployment:
    """How a program lies on the IPUs.

    Args:
        stages: of the program; None: it has none.
        training: whether it updates weights.
        options: of its pipeline and its accumulating optimizer, by name.
        prefetch_depth: of its infeed queue, if the program says it.
        returned_share: share of the micro-batches whose results go to the host; None: the chip model's rule.
    """
    execution = _execution(stages)
    products = active.option("matmuls.poplar_options", {})
    convolutions = active.option("convolutions.poplar_options", {})
    io_tiles = int(active.option("io_tiles.num_io_tiles", 0))
    return Deployment(
        execution=execution,
        pipeline_schedule=str(options.get("schedule", "Grouped")).lower(),
        ipus_per_replica=1 if stages is None else active.ipus_for_shards(stages.ipus_per_replica),
        recompute=_recompute(execution, training),
        proportions={-1: _share(products, convolutions), **_by_ipu(options)},
        partials="fp16" if _half(products) or _half(convolutions) else "fp32",
        weights=_location(options.get("offload_weights"), options.get("replicated_weight_sharding")),
        optimizer_state=_location(
            options.get("offload_weight_update_variables"), options.get("replicated_optimizer_state_sharding")
        ),
        accumulators=_location(options.get("offload_gradient_accumulation_buffers"), None),
        activations=_location(options.get("offload_activations"), None),
        io_tiles=io_tiles,
        prefetch_depth=prefetch_depth or 1,
        overlap_io=io_tiles > 0 and bool(active.option("io_tiles.place_ops_on_io_tiles", False)),
        synthetic_data=flags.use_synthetic_data("infeed"),
        returned_share=returned_share,
    )


def _execution(stages: StageSummary | None) -> str:
    if stages is None or len(stages.ipus_used) <= 1:
        return "single"
    return "pipelined" if stages.mode is Mode.PIPELINED else "sharded"


def _recompute(execution: str, training: bool) -> str:
    """Pipelines compute whole stages again, other programs what is cheap to make."""
    if not training or not active.option("allow_recompute", False):
        return "none"
    return "all" if execution == "pipelined" else "norms"


def _share(*options: Mapping[str, Any]) -> float:
    """The share of memory for temporaries: the chip model has one for all products, and takes the smallest."""
    given = [float(each[_PROPORTION]) for each in options if _PROPORTION in each]
    return min(given, default=DEFAULT_PROPORTION)


def _half(options: Mapping[str, Any]) -> bool:
    return str(options.get(_PARTIALS, "float")) == "half"


def _by_ipu(options: Mapping[str, Any]) -> dict[int, float]:
    """Shares of memory that the stages of a pipeline have of their own."""
    found: dict[int, float] = {}
    mapping = options.get("device_mapping") or []
    for ipu, stage in zip(mapping, options.get("forward_options") or [], strict=False):
        if isinstance(stage, Mapping) and isinstance(ipu, int) and ipu >= 0:
            own = [each for each in stage.values() if isinstance(each, Mapping) and _PROPORTION in each]
            if own:
                found[ipu] = _share(*own)
    return found


def _location(offloaded: Any, sharded: Any) -> Location:
    return Location(on_chip=not offloaded, sharded=bool(sharded))
