"""Adam and AdamW by torch's fused kernels, where their rule is that of the captured update (but for rounding)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tremula.frontends.torch.optimize.adam import FIRST_MOMENT, SECOND_MOMENT, STEP
from tremula.frontends.torch.optimize.scalars import (
    ADAM_BETA1,
    ADAM_BETA2,
    ADAM_EPS,
    ADAM_GRADIENT,
    DECAY,
    RATE,
    Compound,
    has_decay,
)
from tremula.frontends.torch.optimize.spec import Decay, GroupSpec, Kind, OptimizerSpec

_KERNELS: dict[Kind, Any] = {Kind.ADAM: torch._fused_adam_, Kind.ADAMW: torch._fused_adamw_}


def fused_update(
    spec: OptimizerSpec,
    parameters: Mapping[str, torch.Tensor],
    state: Mapping[str, torch.Tensor],
    hyper: Mapping[str, torch.Tensor],
) -> Callable[..., None] | None:
    """A callable that takes what the captured update takes, in its order; None if there is no such kernel."""
    tensors = [*parameters.values(), *state.values()]
    plain = (
        spec.kind in _KERNELS
        and spec.bias_correction
        and math.isinf(spec.max_grad_norm)
        and not spec.clip_groups
        and spec.weight_decay in (None, Decay.STEP if spec.kind is Kind.ADAMW else Decay.GRADIENT)
        and not spec.automatic_loss_scaling
        and all(tensor.dtype is torch.float32 for tensor in tensors)
    )
    if not plain or not parameters:
        return None
    names = list(parameters)
    groups = []
    for group in spec.groups:
        members = [name for name in names if name in group.parameters]
        if members:
            groups.append(_Group(spec, group, members, names, list(state), list(hyper)))

    def update(*tensors: torch.Tensor) -> None:
        for group in groups:
            group.update(tensors)

    return update


class _Group:
    """The parameters of one group, as positions among the arguments of the update."""

    def __init__(
        self,
        spec: OptimizerSpec,
        group: GroupSpec,
        members: list[str],
        names: list[str],
        state: list[str],
        hyper: list[str],
    ) -> None:
        self._kernel = _KERNELS[spec.kind]
        count = len(names)
        places = {name: position for position, name in enumerate(names)}
        after = {name: 2 * count + position for position, name in enumerate([*state, *hyper])}
        self._weights = [places[name] for name in members]
        self._gradients = [count + places[name] for name in members]
        self._first, self._second, self._steps = (
            [after[f"{kind}___{name}"] for name in members] for kind in (FIRST_MOMENT, SECOND_MOMENT, STEP)
        )

        def scalar(compound: Compound) -> tuple[float, int | None]:
            """A constant, or where the variable is found: its value is the same for all of the group."""
            if compound.is_constant(spec, group):
                return compound.value(spec, group), None
            return 0.0, after[compound.tensor_name(members[0])]

        self._rate, self._beta1, self._beta2 = scalar(RATE), scalar(ADAM_BETA1), scalar(ADAM_BETA2)
        self._eps, self._factor = scalar(ADAM_EPS), scalar(ADAM_GRADIENT)
        self._decay = scalar(DECAY) if has_decay(group) else (0.0, None)

    def update(self, tensors: Sequence[torch.Tensor]) -> None:
        """One step of all parameters of the group."""

        def value(scalar: tuple[float, int | None]) -> float:
            constant, position = scalar
            return constant if position is None else tensors[position].item()

        weights = [tensors[i] for i in self._weights]
        gradients = [_laid_as(tensors[i], w) for i, w in zip(self._gradients, weights, strict=True)]
        steps = [tensors[i] for i in self._steps]
        factor = value(self._factor)
        if factor != 1.0:  # into tensors of their own: the gradients may be anchored
            gradients = list(torch._foreach_mul(gradients, factor))
        torch._foreach_add_(steps, 1.0)
        self._kernel(
            weights,
            gradients,
            [tensors[i] for i in self._first],
            [tensors[i] for i in self._second],
            [],
            steps,
            lr=value(self._rate),
            beta1=value(self._beta1),
            beta2=value(self._beta2),
            weight_decay=value(self._decay),
            eps=value(self._eps),
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=None,
        )


def _laid_as(gradient: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The kernel walks through memory, so all its operands must lie alike."""
    if gradient.stride() == weight.stride():
        return gradient
    return torch.empty_like(weight).copy_(gradient)
