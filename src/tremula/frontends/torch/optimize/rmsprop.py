"""RMSprop: `Accl1` is the mean of squares, `Accl2` the mean (centred form only), `Accl3` the momentum buffer. The
TensorFlow variant starts the mean of squares at one, adds eps under the root and accumulates the rate.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from tremula.frontends.torch.optimize.precision import (
    add_quotient_,
    decay_square_,
    multiplied,
    plus_scaled,
    single,
    subtract_scaled_,
    updating,
)
from tremula.frontends.torch.optimize.scalars import (
    ADAPTIVE_ALPHA,
    ADAPTIVE_EPS,
    ADAPTIVE_GRADIENT,
    ADAPTIVE_MOMENTUM,
    DECAY,
    RATE,
    Scalar,
    Scalars,
    has_decay,
    has_velocity,
    product,
)
from tremula.frontends.torch.optimize.spec import GroupSpec, OptimizerSpec

SQUARES = "Accl1"
MEAN = "Accl2"
MOMENTUM = "Accl3"


def initial_state(
    spec: OptimizerSpec, group: GroupSpec, name: str, parameter: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The averages that the chosen form keeps."""
    start = torch.ones_like if spec.use_tf_variant else torch.zeros_like
    state = {f"{SQUARES}___{name}": start(parameter, dtype=spec.first_order_type)}
    if spec.centered:
        state[f"{MEAN}___{name}"] = torch.zeros_like(parameter, dtype=spec.second_order_type)
    if has_velocity(group):
        state[f"{MOMENTUM}___{name}"] = torch.zeros_like(parameter, dtype=torch.float32)
    return state


def update(
    scalars: Scalars,
    parameter: torch.Tensor,
    gradient: torch.Tensor,
    state: Mapping[str, torch.Tensor],
    gradient_factor: Scalar,
) -> None:
    """One step of one parameter, in place."""
    spec, name = scalars.spec, scalars.parameter
    averages = [state[f"{SQUARES}___{name}"]]
    if spec.centered:
        averages.append(state[f"{MEAN}___{name}"])
    with updating(parameter, *averages) as (weight, squares, *means):
        gradient = multiplied(single(gradient), product(scalars[ADAPTIVE_GRADIENT], gradient_factor))
        if has_decay(scalars.group):
            gradient = plus_scaled(gradient, weight, scalars[DECAY])
        alpha, eps, rate = scalars[ADAPTIVE_ALPHA], scalars[ADAPTIVE_EPS], scalars[RATE]
        decay_square_(squares, gradient, alpha)
        spread = squares
        for mean in means:
            mean.lerp_(gradient, 1 - alpha)
            spread = torch.addcmul(squares, mean, mean, value=-1)
        divisor = (spread + eps).sqrt_() if spec.use_tf_variant else spread.sqrt().add_(eps)
        if not has_velocity(scalars.group):
            add_quotient_(weight, gradient, divisor, rate, sign=-1)
            return
        buffer = state[f"{MOMENTUM}___{name}"]
        buffer.mul_(scalars[ADAPTIVE_MOMENTUM])
        if spec.use_tf_variant:
            add_quotient_(buffer, gradient, divisor, rate)
            weight.sub_(buffer)
        else:
            add_quotient_(buffer, gradient, divisor, 1.0)
            subtract_scaled_(weight, buffer, rate)
