"""What is wrong with arguments of a pipeline. Each function raises an error that says what and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue
from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedMode, IPUOutfeedQueue
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod, PipelineSchedule
from tremula.frontends.tensorflow.pipeline.stage_options import PipelineStageOptions

#: stands for all IPUs of a replica in a device mapping
ALL_DEVICES = -1


def to_flat_list(values: Any) -> list[Any]:
    """The elements of nested lists, tuples and ranges; anything else is one element."""
    if not isinstance(values, (list, tuple, range)):
        return [values]
    return [element for value in values for element in to_flat_list(value)]


def check_count(count: Any) -> None:
    """The number of micro-batches is given and fits into 32 bits."""
    if count is None:
        raise ValueError(
            "gradient_accumulation_count must be specified: the number of micro-batches for each weight update."
        )
    if isinstance(count, (int, np.integer)):
        if count < 0:
            raise ValueError(f"gradient_accumulation_count must be >= 0. It is {count}.")
        if count > np.iinfo(np.int32).max:
            raise ValueError(f"gradient_accumulation_count must be < max int32. It is {count}.")


def check_serialization(iterations: int, reduction_method: Any) -> None:
    """Serialised batches are summed."""
    if iterations != 1 and reduction_method is not GradientAccumulationReductionMethod.SUM:
        raise ValueError(
            "batch_serialization_iterations != 1 is only supported when reduction_method is "
            "GradientAccumulationReductionMethod.SUM."
        )


def check_stages(stages: Any) -> None:
    """There are at least two stages."""
    if not isinstance(stages, (list, tuple)):
        raise TypeError("computational_stages argument needs to be a list or a tuple of functions.")
    if len(stages) < 2:
        raise ValueError(f"Pipeline requires at least two computational stages, and there is {len(stages)}.")


def check_queues(infeed_queue: Any, outfeed_queue: Any) -> None:
    """Queues are queues."""
    if infeed_queue is not None and not isinstance(infeed_queue, IPUInfeedQueue):
        raise TypeError(
            f"infeed_queue is not an instance of ipu_infeed_queue.IPUInfeedQueue: {infeed_queue!r}"
        )
    if outfeed_queue is not None and not isinstance(outfeed_queue, IPUOutfeedQueue):
        raise TypeError(
            f"outfeed_queue is not an instance of ipu_outfeed_queue.IPUOutfeedQueue: {outfeed_queue!r}"
        )


def check_mapping(
    mapping: Any, stages: Sequence[Any], schedule: PipelineSchedule, serial: bool, training: bool
) -> None:
    """Each stage has its IPU, as the schedule needs it."""
    if not isinstance(mapping, (list, tuple)):
        raise TypeError(f"device_mapping argument needs to be a list or a tuple, not {mapping!r}.")
    if len(mapping) != len(stages):
        raise ValueError(
            f"Each stage must be mapped to an IPU: there are {len(stages)} stages, and device_mapping has "
            f"{len(mapping)} elements."
        )
    flat = to_flat_list(mapping)
    for ipu in flat:
        if isinstance(ipu, bool) or not isinstance(ipu, (int, np.integer)) or ipu < ALL_DEVICES:
            raise ValueError(f"device_mapping has {ipu!r}: it takes numbers of IPUs, from 0.")
    for number, (stage, place) in enumerate(zip(stages, mapping, strict=True)):
        check_parallel(number, stage, place)
    if schedule is PipelineSchedule.Interleaved and training and len(flat) != len(set(flat)):
        raise NotImplementedError(
            "The pipelining schedule 'Interleaved' does not support several stages on the same IPU when it trains. Use "
            "another schedule, or a device_mapping with an IPU for each stage."
        )
    if serial and len(set(flat)) != 1:
        raise NotImplementedError(
            "When using batch serialization, all the pipeline stages need to be mapped to a single IPU."
        )


def check_parallel(number: int, stage: Any, place: Any) -> None:
    """Functions that run side by side have an IPU each."""
    if not isinstance(stage, (list, tuple)):
        return
    if not isinstance(place, (list, tuple)):
        raise ValueError(
            f"Stage {number} is a list of functions, which run side by side: device_mapping[{number}] must be a list "
            f"of IPUs, one for each, not {place!r}."
        )
    if len(stage) != len(place):
        raise ValueError(
            f"Stage {number} has {len(stage)} functions, and device_mapping[{number}] has {len(place)} IPUs."
        )
    if any(isinstance(function, (list, tuple)) for function in stage):
        raise NotImplementedError(
            f"Stage {number} has a list inside a list: only one level of functions is supported."
        )


def check_sharding(sharded: bool | None, offloaded: bool | None) -> None:
    """Only state that is offloaded is spread over replicas."""
    if offloaded is False and sharded:
        raise ValueError(
            "To use replicated_optimizer_state_sharding, optimizer state must be offloaded: leave "
            "offload_weight_update_variables out, or set it to True."
        )


def stage_options(name: str, options: Any, stages: int) -> list[Any]:
    """The options of each stage as plain data."""
    if options is None:
        return [{}] * stages
    if not isinstance(options, (list, tuple)):
        raise TypeError(f"{name} must be a list or a tuple of PipelineStageOptions, not {options!r}.")
    if len(options) != stages:
        raise ValueError(
            f"{name} must be a list or a tuple with one PipelineStageOptions for each of the {stages} stages; it has "
            f"{len(options)}."
        )
    for each in options:
        if not isinstance(each, PipelineStageOptions):
            raise TypeError(
                f"Expected all elements of {name} to be PipelineStageOptions, and one is {each!r}."
            )
    return [each.options for each in options]


def update_options(options: Any) -> Any:
    """The options of the weight update as plain data."""
    if options is None:
        return {}
    if not isinstance(options, PipelineStageOptions):
        raise TypeError(
            f"Expected weight_update_poplar_options to be of type PipelineStageOptions, not {options!r}."
        )
    return options.options


def check_outfeed(queue: Any, optimizer_function: Any, loss: bool, mask: Any, accumulate: bool) -> None:
    """What is given to the outfeed is possible."""
    if mask and not optimizer_function:
        raise ValueError("An optimizer_function must be provided when outfeed_mask is set.")
    if loss and not optimizer_function:
        raise ValueError("An optimizer_function must be provided when outfeed_loss is True.")
    if loss and mask:
        raise ValueError("Only one of `outfeed_loss` and `outfeed_mask` can be set.")
    if loss and queue is None:
        raise ValueError("An outfeed_queue must be provided when outfeed_loss is True.")
    if accumulate and queue is None:
        raise ValueError("An outfeed_queue must be provided when accumulate_outfeed is True.")
    if accumulate and queue._outfeed_mode is not IPUOutfeedMode.ALL:
        raise ValueError("To accumulate the outfeed, it must be in IPUOutfeedMode ALL.")
