"""One stage of a pipeline: how its functions are called, and which tensors it may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.pipeline import facts
from tremula.frontends.tensorflow.pipeline.arguments import to_list
from tremula.frontends.tensorflow.pipeline.checks import to_flat_list

#: ops that give the same wherever they are, so that a stage may use them of another one
_ANYWHERE = frozenset({"Const", "Placeholder", "PlaceholderWithDefault"})


def run_stage(stage: Any, number: int, place: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a stage returns; functions that run side by side, all together."""
    if not isinstance(stage, (list, tuple)):
        return stage(*args, **kwargs)
    outputs = []
    for function, ipu in zip(stage, place, strict=True):
        with facts.stage(number, to_flat_list(ipu)):
            outputs.append(function(*args, **kwargs))
    return to_flat_list(outputs)


def tensors(outputs: Any) -> Any:
    """What a stage returns, with everything but operations as tensors."""

    def convert(value: Any) -> Any:
        if value is None or isinstance(value, tf.Operation) or tf.is_tensor(value):
            return tf.convert_to_tensor(value) if isinstance(value, tf.Variable) else value
        return tf.convert_to_tensor(value)

    return tf.nest.map_structure(convert, outputs)


def as_arguments(outputs: Any) -> list[Any]:
    """The arguments that the next stage gets."""
    if outputs is None or isinstance(outputs, tf.Operation):
        return []
    return [value for value in to_list(outputs) if not isinstance(value, tf.Operation)]


def check_stage(number: int, made: list[Any], arguments: list[Any]) -> None:
    """Refuse a stage that uses a tensor of another one which it did not get as an argument."""
    own = set(made)
    given = {
        tensor.ref() for tensor in tf.nest.flatten(arguments, expand_composites=True) if tf.is_tensor(tensor)
    }
    for op in made:
        for tensor in op.inputs:
            allowed = tensor.op in own or tensor.ref() in given or tensor.dtype == tf.resource
            if not allowed and tensor.op.type not in _ANYWHERE:
                raise _illegal_capture(tensor, f"Stage {number} uses it.")


def check_captures(tensors: Sequence[Any]) -> None:
    """Refuse tensors from outside of the pipeline that are not variables."""
    for tensor in tensors:
        if tensor.dtype != tf.resource and not isinstance(tensor, tf.__internal__.EagerTensor):
            raise _illegal_capture(tensor, "A stage or the optimizer uses it.")


def _illegal_capture(tensor: Any, where: str) -> ValueError:
    return ValueError(
        f"Trying to capture the tensor {getattr(tensor, 'name', tensor)} which is not a resource. {where} Tensors that "
        "are not variables must come from the `inputs` or the `infeed_queue` of the pipeline, or from the "
        "previous stage."
    )
