"""Adam, AdamW, AdaMax and LAMB: `Accl1` and `Accl2` are the moments, `Step` counts updates for the bias correction.
Scalars are computed for all parameters of a group at once, because tiny ops cost as much as big ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from tremula.frontends.torch.optimize.precision import (
    add_quotient_,
    add_scaled_,
    decay_square_,
    multiplied,
    plus_scaled,
    single,
    subtract_scaled_,
    updating,
)
from tremula.frontends.torch.optimize.scalars import (
    ADAM_BETA1,
    ADAM_BETA2,
    ADAM_EPS,
    ADAM_GRADIENT,
    DECAY,
    MAX_WEIGHT_NORM,
    RATE,
    Compound,
    Scalar,
    Scalars,
    has_decay,
    is_one,
    product,
)
from tremula.frontends.torch.optimize.spec import GroupSpec, Kind, OptimizerSpec

FIRST_MOMENT = "Accl1"
SECOND_MOMENT = "Accl2"
STEP = "Step"


def initial_state(
    spec: OptimizerSpec, _group: GroupSpec, name: str, parameter: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Zero moments and, with bias correction, a zero step count."""
    state = {
        f"{FIRST_MOMENT}___{name}": torch.zeros_like(parameter, dtype=spec.first_order_type),
        f"{SECOND_MOMENT}___{name}": torch.zeros_like(parameter, dtype=spec.second_order_type),
    }
    if spec.bias_correction:
        state[f"{STEP}___{name}"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
    return state


@dataclass(frozen=True)
class StepScalars:
    """The scalars of one parameter's step that depend on how many steps it has made.

    With c = sqrt(1 - beta2**t), the step  rate / (1 - beta1**t) * m / (sqrt(v) / c + eps)  is computed as
    rate * scale * m / (sqrt(v) + eps):  `scale` and `eps` here are those of the second form.
    """

    eps: Scalar
    #: LAMB keeps rate and scale apart, because its ratio of norms comes between them.
    rate: Scalar
    scale: Scalar
    #: what AdamW's decay leaves of the weight
    keep: Scalar


def step_scalars(group: Sequence[Scalars], state: Mapping[str, torch.Tensor]) -> list[StepScalars]:
    """Counts the step of every parameter of a group and derives its scalars."""
    spec = group[0].spec
    eps, rate = _together(group, ADAM_EPS), _together(group, RATE)
    scale: Scalar = 1.0
    keep: Scalar = 1.0
    if spec.kind is not Kind.LAMB and not spec.decays_gradient and has_decay(group[0].group):
        keep = 1 - product(rate, _together(group, DECAY))
    if spec.bias_correction:
        counts = [state[f"{STEP}___{scalars.parameter}"] for scalars in group]
        torch._foreach_add_(counts, 1.0)
        steps = torch.stack(counts)
        first = 1 - torch.pow(_together(group, ADAM_BETA1), steps)
        if spec.kind is Kind.ADAMAX:  # the greatest gradient so far is not biased
            scale = first.reciprocal()
        else:
            root = (1 - torch.pow(_together(group, ADAM_BETA2), steps)).sqrt_()
            scale = root / first
            eps = root * eps
    if spec.kind is not Kind.LAMB:
        rate, scale = product(rate, scale), 1.0
    columns = [_each(value, len(group)) for value in (eps, rate, scale, keep)]
    return [StepScalars(*row) for row in zip(*columns, strict=True)]


def _together(group: Sequence[Scalars], compound: Compound) -> Scalar:
    """A scalar of every parameter of a group: a vector if it is variable, else the one number."""
    values = [scalars[compound] for scalars in group]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    return torch.stack(tensors) if tensors else values[0]


def _each(values: Scalar, count: int) -> Sequence[Scalar]:
    return values.unbind() if isinstance(values, torch.Tensor) else [values] * count


def update(
    scalars: Scalars,
    parameter: torch.Tensor,
    gradient: torch.Tensor,
    state: Mapping[str, torch.Tensor],
    gradient_factor: Scalar,
    step: StepScalars,
) -> None:
    """One step of one parameter, in place."""
    kind, decays = scalars.spec.kind, has_decay(scalars.group)
    name = scalars.parameter
    stored = (parameter, state[f"{FIRST_MOMENT}___{name}"], state[f"{SECOND_MOMENT}___{name}"])
    with updating(*stored) as (weight, first, second):
        gradient = multiplied(single(gradient), product(scalars[ADAM_GRADIENT], gradient_factor))
        if decays and scalars.spec.decays_gradient:
            gradient = plus_scaled(gradient, weight, scalars[DECAY])
        first.lerp_(gradient, 1 - scalars[ADAM_BETA1])
        if kind is Kind.ADAMAX:
            torch.maximum(second.mul_(scalars[ADAM_BETA2]), gradient.abs(), out=second)
            divisor = second + step.eps
        else:
            decay_square_(second, gradient, scalars[ADAM_BETA2])
            divisor = second.sqrt().add_(step.eps)
        if kind is Kind.LAMB:
            direction = multiplied(first / divisor, step.scale)
            if decays and not scalars.spec.decays_gradient:
                add_scaled_(direction, weight, scalars[DECAY])
            trust = _trust(weight, direction, scalars[MAX_WEIGHT_NORM])
            subtract_scaled_(weight, direction, product(trust, step.rate))
            return
        if not is_one(step.keep):
            weight.mul_(step.keep)
        add_quotient_(weight, first, divisor, step.rate, sign=-1)


def _trust(weight: torch.Tensor, direction: torch.Tensor, max_weight_norm: Scalar) -> torch.Tensor:
    """LAMB's ratio of norms; one where either is zero."""
    weight_norm = torch.linalg.vector_norm(weight).clamp(max=max_weight_norm)
    step_norm = torch.linalg.vector_norm(direction)
    ratio = weight_norm / step_norm
    return torch.where((weight_norm == 0) | (step_norm == 0), torch.ones_like(ratio), ratio)
