"""The options of pipelined Keras models: `set_pipelining_options`."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from tremula import log
from tremula.frontends.tensorflow.pipeline.build import pipeline
from tremula.frontends.tensorflow.pipeline.enums import PipelineSchedule, RecomputationMode

#: names of `pipelining_ops.pipeline` that are arguments of `set_pipelining_options` under another name
_OWN_ARGUMENTS = {
    "gradient_accumulation_count": "gradient_accumulation_steps_per_replica",
    "device_mapping": "device_mapping",
    "accumulate_outfeed": "accumulate_outfeed",
    "experimental_normalize_gradients": "gradient_accumulation_reduction_method",
    "reduction_method": "gradient_accumulation_reduction_method",
}
#: names that Keras decides
_AUTOMATIC = (
    "computational_stages", "repeat_count", "inputs", "infeed_queue", "outfeed_queue", "optimizer_function",
)  # fmt: skip
#: names that make no sense with Keras
_INCOMPATIBLE = ("outfeed_loss", "outfeed_mask", "batch_serialization_iterations")
#: options that change numbers; the others are facts for the chip model
_NUMERIC = (
    "accumulate_outfeed_dtype",
    "gradient_accumulation_dtype",
    "gradient_accumulation_for_captured_grads",
    "name",
)


def check_steps(steps: Any) -> None:
    """See that a number of micro-batches is a positive integer.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(
            f"Expected `gradient_accumulation_steps_per_replica` to be a positive integer, but got {steps} instead."
        )


def check_mapping(mapping: Any) -> None:
    """See that a device mapping is a list of integers.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(mapping, list) or not all(isinstance(ipu, int) and ipu >= 0 for ipu in mapping):
        raise ValueError(
            f"Expected `device_mapping` to be a list of integers, the IPU of each stage, not {mapping!r}."
        )


def check_pipeline_options(options: dict[str, Any]) -> None:
    """See that options for the pipeline are those that a program may give.

    Raises:
        ValueError: an option has a place of its own, is set by Keras, or does not go with Keras.
        TypeError: pipelines have no such option, or its value is of the wrong kind.
    """
    known = inspect.signature(pipeline).parameters
    for name in options:
        if name in _OWN_ARGUMENTS:
            raise ValueError(
                f"Found `{name}` key in `pipelining_kwargs`. Set the `{_OWN_ARGUMENTS[name]}` argument to "
                f"`set_pipelining_options` instead."
            )
        if name in _AUTOMATIC:
            raise ValueError(
                f"Found `{name}` key in `pipelining_kwargs`. This argument is automatically set by Keras: leave it out."
            )
        if name in _INCOMPATIBLE:
            raise ValueError(
                f"Found `{name}` key in `pipelining_kwargs`. This argument is not compatible with Keras: leave it out."
            )
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(
                f"set_pipelining_options has no option `{name}`{f'; did you mean `{near[0]}`?' if near else '.'}"
            )
    for name, kind in (("pipeline_schedule", PipelineSchedule), ("recomputation_mode", RecomputationMode)):
        value = options.get(name)
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"`{name}` is a {kind.__name__}, not {value!r}.")
    for name in options:
        if name not in _NUMERIC:
            log.recorded(f"set_pipelining_options({name}=...)")
