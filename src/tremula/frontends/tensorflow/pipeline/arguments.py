"""The arguments of a pipeline, checked, with their defaults filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.pipeline import checks
from tremula.frontends.tensorflow.pipeline.enums import (
    GradientAccumulationReductionMethod,
    PipelineSchedule,
    RecomputationMode,
)


def to_list(values: Any) -> list[Any]:
    """A list or tuple as a list; anything else as a list of one."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


@dataclass(frozen=True)
class Arguments:
    """The arguments of `pipeline` after `checked`; see there for their meaning.

    Attributes:
        options: facts for the chip model that have no effect on results.
    """

    stages: list[Any]
    count: Any
    repeat_count: int
    batch_serialization_iterations: int
    inputs: list[Any]
    infeed_queue: Any
    outfeed_queue: Any
    optimizer_function: Callable[..., Any] | None
    device_mapping: list[Any]
    schedule: PipelineSchedule
    gradient_dtype: Any
    accumulate_captured: bool
    outfeed_loss: bool
    accumulate_outfeed: bool
    outfeed_dtype: Any
    outfeed_mask: Sequence[Any] | None
    reduction_method: GradientAccumulationReductionMethod
    name: str
    options: dict[str, Any]

    @property
    def training(self) -> bool:
        """Whether weights are updated."""
        return self.optimizer_function is not None

    @property
    def ipus(self) -> int:
        """How many IPUs one replica of the pipeline uses."""
        return max(1, *(int(ipu) + 1 for ipu in checks.to_flat_list(self.device_mapping)))

    @property
    def divisor(self) -> int:
        """What the number of micro-batches must be a multiple of, for the schedule to fill the pipeline."""
        if self.schedule is PipelineSchedule.Sequential:
            return 1
        both_ways = self.training and self.schedule is PipelineSchedule.Grouped
        return len(self.stages) * (2 if both_ways else 1)


def checked(
    computational_stages: Any,
    gradient_accumulation_count: Any,
    gradient_accumulation_dtype: Any,
    gradient_accumulation_for_captured_grads: bool,
    repeat_count: int,
    batch_serialization_iterations: int,
    inputs: Any,
    infeed_queue: Any,
    outfeed_queue: Any,
    optimizer_function: Callable[..., Any] | None,
    device_mapping: Any,
    pipeline_schedule: PipelineSchedule | None,
    recomputation_mode: RecomputationMode | None,
    forward_propagation_stages_poplar_options: Any,
    backward_propagation_stages_poplar_options: Any,
    weight_update_poplar_options: Any,
    offload_weight_update_variables: bool | None,
    replicated_optimizer_state_sharding: bool | None,
    offload_activations: bool | None,
    offload_gradient_accumulation_buffers: bool | None,
    replicated_weight_sharding: bool | None,
    offload_weights: bool | None,
    continuous_weight_updates: bool,
    outfeed_loss: bool,
    accumulate_outfeed: bool,
    accumulate_outfeed_dtype: Any,
    outfeed_mask: Sequence[Any] | None,
    reduction_method: Any,
    name: str | None,
) -> Arguments:
    """Check the arguments of `pipeline`, of the same names.

    Raises:
        TypeError, ValueError, NotImplementedError: what is wrong with which argument.
    """
    checks.check_count(gradient_accumulation_count)
    if optimizer_function is not None:
        reduction_method = GradientAccumulationReductionMethod.parse(reduction_method)
    checks.check_serialization(batch_serialization_iterations, reduction_method)
    if continuous_weight_updates:
        raise NotImplementedError(
            "Continuous weight updates are currently not supported: gradients are accumulated."
        )
    serial = batch_serialization_iterations > 1
    schedule = _schedule(pipeline_schedule, serial)
    recomputation = _recomputation(recomputation_mode)
    checks.check_stages(computational_stages)
    stages = len(computational_stages)
    checks.check_queues(infeed_queue, outfeed_queue)
    if device_mapping is None:
        device_mapping = [0] * stages if serial else list(range(stages))
    checks.check_mapping(
        device_mapping, computational_stages, schedule, serial, optimizer_function is not None
    )
    options = {
        "schedule": schedule.name,
        "recomputation_mode": recomputation.name,
        "device_mapping": list(device_mapping),
        "forward_options": checks.stage_options(
            "forward_propagation_stages_poplar_options", forward_propagation_stages_poplar_options, stages
        ),
        "offload_activations": offload_activations,
        "replicated_weight_sharding": replicated_weight_sharding,
        "offload_weights": replicated_weight_sharding if offload_weights is None else offload_weights,
        "batch_serialization_iterations": batch_serialization_iterations,
        "training": optimizer_function is not None,
    }
    if optimizer_function is not None:
        checks.check_sharding(replicated_optimizer_state_sharding, offload_weight_update_variables)
        options |= {
            "backward_options": checks.stage_options(
                "backward_propagation_stages_poplar_options", backward_propagation_stages_poplar_options, stages
            ),
            "update_options": checks.update_options(weight_update_poplar_options),
            "offload_weight_update_variables": offload_weight_update_variables,
            "replicated_optimizer_state_sharding": replicated_optimizer_state_sharding,
            "offload_gradient_accumulation_buffers": offload_gradient_accumulation_buffers,
        }  # fmt: skip
    else:
        _say_inference_ignores(
            replicated_optimizer_state_sharding=replicated_optimizer_state_sharding,
            offload_weight_update_variables=offload_weight_update_variables,
        )
    checks.check_outfeed(outfeed_queue, optimizer_function, outfeed_loss, outfeed_mask, accumulate_outfeed)
    return Arguments(
        stages=list(computational_stages),
        count=gradient_accumulation_count,
        repeat_count=repeat_count,
        batch_serialization_iterations=batch_serialization_iterations,
        inputs=[] if inputs is None else to_list(inputs),
        infeed_queue=infeed_queue,
        outfeed_queue=outfeed_queue,
        optimizer_function=optimizer_function,
        device_mapping=list(device_mapping),
        schedule=schedule,
        gradient_dtype=gradient_accumulation_dtype,
        accumulate_captured=gradient_accumulation_for_captured_grads,
        outfeed_loss=outfeed_loss,
        accumulate_outfeed=accumulate_outfeed,
        outfeed_dtype=accumulate_outfeed_dtype,
        outfeed_mask=outfeed_mask,
        reduction_method=reduction_method,
        name=name or "pipeline",
        options=options,
    )


def _schedule(given: PipelineSchedule | None, serial: bool) -> PipelineSchedule:
    if given is None:
        return PipelineSchedule.Sequential if serial else PipelineSchedule.Grouped
    if not isinstance(given, PipelineSchedule):
        raise TypeError(
            f"The given pipeline_schedule is not a member of the PipelineSchedule enumeration: {given!r}."
        )
    if serial and given is not PipelineSchedule.Sequential:
        raise NotImplementedError(
            f"Batch serialization is only supported with the `Sequential` schedule, not with {given.name}."
        )
    return given


def _recomputation(given: RecomputationMode | None) -> RecomputationMode:
    if given is None:
        return RecomputationMode.Auto
    if not isinstance(given, RecomputationMode):
        raise TypeError(
            f"The given recomputation_mode is not a member of the RecomputationMode enumeration: {given!r}."
        )
    return given


def _say_inference_ignores(**options: bool | None) -> None:
    for option, value in options.items():
        if value:
            log.no_effect(f"{option} of pipelining_ops.pipeline", "this pipeline is in inference")


def as_count(count: Any) -> Any:
    """The number of micro-batches: an int if it is known, else a tensor in int32."""
    if isinstance(count, (int, np.integer)):
        return int(count)
    tensor = tf.cast(tf.convert_to_tensor(count), tf.int32)
    known = tf.get_static_value(tensor)
    return tensor if known is None else int(known)
