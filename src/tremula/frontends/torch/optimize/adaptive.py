"""RMSprop, AdaGrad and AdaDelta: `Accl1` is the mean (AdaGrad: the sum) of squares; `Accl2` the mean (centred form) or
the mean of squared steps (AdaDelta); `Accl3` the momentum buffer. The TensorFlow variant of RMSprop starts the mean of
squares at one, adds eps under the root and accumulates the rate.
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
from tremula.frontends.torch.optimize.spec import GroupSpec, Kind, OptimizerSpec

SQUARES = "Accl1"
SECOND = "Accl2"
MOMENTUM = "Accl3"


def initial_state(
    spec: OptimizerSpec, group: GroupSpec, name: str, parameter: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The averages that the chosen form keeps."""
    start = torch.ones_like if spec.use_tf_variant else torch.zeros_like
    state = {f"{SQUARES}___{name}": start(parameter, dtype=spec.first_order_type)}
    if spec.centered or spec.kind is Kind.ADADELTA:
        state[f"{SECOND}___{name}"] = torch.zeros_like(parameter, dtype=spec.second_order_type)
    if has_velocity(group):
        state[f"{MOMENTUM}___{name}"] = torch.zeros_like(parameter, dtype=spec.third_order_type)
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
    decays = has_decay(scalars.group)
    averages = [state[f"{SQUARES}___{name}"]]
    if spec.centered or spec.kind is Kind.ADADELTA:
        averages.append(state[f"{SECOND}___{name}"])
    with updating(parameter, *averages) as (weight, *means):
        gradient = multiplied(single(gradient), product(scalars[ADAPTIVE_GRADIENT], gradient_factor))
        if decays and spec.decays_gradient:
            gradient = plus_scaled(gradient, weight, scalars[DECAY])
        # the rate is in the buffer of the TensorFlow variant, so the step has none
        in_buffer = spec.use_tf_variant and has_velocity(scalars.group)
        rate: Scalar = 1.0 if in_buffer else scalars[RATE]
        decay = product(scalars[DECAY], rate) if decays and not spec.decays_gradient else None
        if spec.kind is Kind.ADADELTA:
            numerator, divisor = _adadelta(scalars, gradient, *means)
        else:
            numerator, divisor = gradient, _root(scalars, gradient, *means)
        if decay is not None:
            weight.mul_(1 - decay)
        if not has_velocity(scalars.group):
            add_quotient_(weight, numerator, divisor, rate, sign=-1)
            return
        with updating(state[f"{MOMENTUM}___{name}"]) as (buffer,):
            buffer.mul_(scalars[ADAPTIVE_MOMENTUM])
            add_quotient_(buffer, numerator, divisor, scalars[RATE] if in_buffer else 1.0)
            if in_buffer:
                weight.sub_(buffer)
            else:
                subtract_scaled_(weight, buffer, rate)


def _root(
    scalars: Scalars, gradient: torch.Tensor, squares: torch.Tensor, *means: torch.Tensor
) -> torch.Tensor:
    """What the gradient is divided by; advances the averages."""
    spec, eps = scalars.spec, scalars[ADAPTIVE_EPS]
    if spec.kind is Kind.ADAGRAD:
        squares.addcmul_(gradient, gradient)
        return squares.sqrt().add_(eps)
    alpha = scalars[ADAPTIVE_ALPHA]
    decay_square_(squares, gradient, alpha)
    spread = squares
    for mean in means:
        mean.lerp_(gradient, 1 - alpha)
        spread = torch.addcmul(squares, mean, mean, value=-1)
    return (spread + eps).sqrt_() if spec.use_tf_variant else spread.sqrt().add_(eps)


def _adadelta(
    scalars: Scalars, gradient: torch.Tensor, squares: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """AdaDelta's step as a quotient; advances the averages."""
    alpha, eps = scalars[ADAPTIVE_ALPHA], scalars[ADAPTIVE_EPS]
    decay_square_(squares, gradient, alpha)
    numerator = (steps + eps).sqrt_().mul_(gradient)
    divisor = (squares + eps).sqrt_()
    decay_square_(steps, numerator / divisor, alpha)
    return numerator, divisor
