"""What programs and layers take from `op_util`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts

TRAINING_FWD, TRAINING_BWD, TRAINING_WU = "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU"


def set_ml_type(op: Any, ml_type: Any) -> Any:
    """Say of a convolution or product in a graph which pass it belongs to; gives `op` back."""
    return facts.record(op, ml_type=ml_type) if ml_type else op


def set_op_as_fwd(op: Any) -> Any:
    """Say that an op belongs to the forward pass of training."""
    return set_ml_type(op, TRAINING_FWD)


def set_op_as_bwd(op: Any) -> Any:
    """Say that an op makes the gradient of an activation."""
    return set_ml_type(op, TRAINING_BWD)


def set_op_as_wu(op: Any) -> Any:
    """Say that an op makes the gradient of a weight."""
    return set_ml_type(op, TRAINING_WU)


def get_accumulator_dtype(variable: Any, dtype_override: Any) -> Any:
    """The type in which gradients of a variable are accumulated.

    Args:
        variable: the variable.
        dtype_override: None for the variable's own type, a type, or a function of the variable that gives one.
    """
    if dtype_override is None:
        return variable.dtype
    try:
        return tf.as_dtype(dtype_override)
    except TypeError:
        if not callable(dtype_override):
            raise
        return tf.as_dtype(dtype_override(variable))


def bool_to_three_state(value: bool | None, default: str | None = None) -> str:
    """The word for on, off or undefined."""
    if value is None:
        return default or "THREESTATE_UNDEFINED"
    return "THREESTATE_ON" if value else "THREESTATE_OFF"


def accumulate_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]],
    gradient_accumulation_dtype: Any,
    accum_scale: Any = 1.0,
    grad_scale: Any = None,
    create_accumulator_from_shape: bool = False,
) -> list[tuple[Any, Any]]:
    """The gradients of one micro-batch, scaled and in the type of their accumulators.

    The loops around a micro-batch carry the accumulators; here each starts empty, so that `accum_scale` scales nothing.

    Args:
        grads_and_vars: pairs as `compute_gradients` gives them. A gradient that is None stays so.
        gradient_accumulation_dtype: see `get_accumulator_dtype`.
        accum_scale: multiplies what was accumulated before.
        grad_scale: multiplies the gradients.
        create_accumulator_from_shape: where the device puts the accumulator: a fact for the chip model.
    """
    accumulated = []
    for gradient, variable in grads_and_vars:
        if gradient is not None:
            dtype = get_accumulator_dtype(variable, gradient_accumulation_dtype).base_dtype
            if grad_scale is not None:
                gradient = gradient * tf.cast(grad_scale, gradient.dtype)
            gradient = tf.identity(tf.cast(gradient, dtype))
            facts.record(gradient, accumulator=True, accumulator_from_shape=create_accumulator_from_shape)
        accumulated.append((gradient, variable))
    return accumulated


def accumulate_tagged_gradients(
    tagged_grads: dict[str, Any],
    gradient_accumulation_dtype: Any,
    accum_scale: Any = 1.0,
    grad_scale: Any = None,
) -> dict[str, list[Any]]:
    """`accumulate_gradients` for captured gradients by their tags."""
    return {
        tag: [
            gradient
            for gradient, _ in accumulate_gradients(
                [(g, g) for g in gradients], gradient_accumulation_dtype, accum_scale, grad_scale, True
            )
        ]
        for tag, gradients in tagged_grads.items()
    }
