"""Stochastic gradient descent: without state, with a separate velocity (`Accl1`), or with one combined with the
gradient accumulator (`Accl`), which holds the next decay. Dampening weakens the first gradient too, unlike in torch.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from tremula.frontends.torch.optimize.precision import add_scaled_, single, subtract_scaled_, updating
from tremula.frontends.torch.optimize.scalars import (
    SGD0_DECAY,
    SGD0_RATE,
    Scalar,
    Scalars,
    VelocityScalars,
    has_decay,
    has_velocity,
    is_nesterov,
    product,
    velocity_scalars,
)
from tremula.frontends.torch.optimize.spec import GroupSpec, OptimizerSpec

SEPARATE_STATE = "Accl1"
COMBINED_STATE = "Accl"


def initial_state(
    spec: OptimizerSpec, group: GroupSpec, name: str, parameter: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The velocity of one parameter, if it has one."""
    if not has_velocity(group):
        return {}
    if not spec.use_combined_accum:
        return {f"{SEPARATE_STATE}___{name}": torch.zeros_like(parameter, dtype=spec.first_order_type)}
    decay = velocity_scalars(spec).decay.value(spec, group)
    return {f"{COMBINED_STATE}___{name}": parameter.detach() * decay}


def update(
    scalars: Scalars,
    parameter: torch.Tensor,
    gradient: torch.Tensor,
    state: Mapping[str, torch.Tensor],
    gradient_factor: Scalar,
) -> None:
    """One step of one parameter, in place."""
    group = scalars.group
    if not has_velocity(group):
        rate = product(scalars[SGD0_RATE], gradient_factor)
        with updating(parameter) as (weight,):
            if has_decay(group):
                weight.mul_(scalars[SGD0_DECAY])
            subtract_scaled_(weight, single(gradient), rate)
        return
    compounds = velocity_scalars(scalars.spec)
    combined = scalars.spec.use_combined_accum
    stored = state[f"{COMBINED_STATE if combined else SEPARATE_STATE}___{scalars.parameter}"]
    with updating(parameter, stored) as (weight, velocity):
        gradient = single(gradient)
        if not combined:
            _advance(scalars, compounds, velocity, weight)
        add_scaled_(velocity, gradient, product(scalars[compounds.dampening], gradient_factor))
        direction = velocity
        if is_nesterov(group):
            direction = _look_ahead(scalars, compounds, velocity, weight, gradient, gradient_factor)
        subtract_scaled_(weight, direction, scalars[compounds.rate])
        if combined:
            _advance(scalars, compounds, velocity, weight)


def _advance(
    scalars: Scalars, compounds: VelocityScalars, velocity: torch.Tensor, weight: torch.Tensor
) -> None:
    """Velocity loses momentum and takes up the weight decay."""
    velocity.mul_(scalars[compounds.momentum])
    if has_decay(scalars.group):
        add_scaled_(velocity, weight, scalars[compounds.decay])


def _look_ahead(
    scalars: Scalars,
    compounds: VelocityScalars,
    velocity: torch.Tensor,
    weight: torch.Tensor,
    gradient: torch.Tensor,
    gradient_factor: Scalar,
) -> torch.Tensor:
    """Nesterov's direction: the gradient at the present point plus one more step of momentum."""
    direction = velocity * scalars[compounds.momentum]
    add_scaled_(direction, gradient, product(scalars[compounds.nesterov_gradient], gradient_factor))
    if has_decay(scalars.group):
        add_scaled_(direction, weight, scalars[compounds.nesterov_decay])
    return direction
