"""Automatic loss scaling, as the device's runtime does it: if too many elements of the scaled float16 gradients are
large the factor on the loss is halved, else it is doubled, up to the largest power of two in float16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from tremula.frontends.torch.optimize.scalars import LOSS_SCALING, Scalar, product
from tremula.frontends.torch.optimize.spec import LossScaleSettings, OptimizerSpec

#: State tensors
UPDATE_FACTOR = "lossScaleUpdateFactor"
UPDATE_COUNT = "lossScaleUpdateCount"
#: What the runtime calls the product of the user's loss scaling and the adapted factor.
FINAL_SCALE = "finalLossScale"

_LARGEST_SCALE = 2.0**15


def initial_state(settings: LossScaleSettings) -> dict[str, torch.Tensor]:
    """A factor of one and, if the scale does not change with every update, a count of updates: the first one counts as
    the last of a period.
    """
    state = {UPDATE_FACTOR: torch.ones((), dtype=torch.float32)}
    if settings.update_period > 1:
        state[UPDATE_COUNT] = torch.tensor(settings.update_period - 1.0)
    return state


def loss_scale(
    spec: OptimizerSpec, state: Mapping[str, torch.Tensor], hyper: Mapping[str, torch.Tensor]
) -> Scalar:
    """What the loss has to be multiplied by before the backward pass: a number if it can never change."""
    scale = user_scale(spec, hyper)
    return product(scale, state[UPDATE_FACTOR]) if spec.automatic_loss_scaling else scale


def user_scale(spec: OptimizerSpec, hyper: Mapping[str, torch.Tensor]) -> Scalar:
    """The loss scaling that the user set."""
    return spec.loss_scaling.value if spec.loss_scaling.constant else hyper[LOSS_SCALING]


def count_elements(
    gradients: Sequence[torch.Tensor], settings: LossScaleSettings
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of (large, small) elements; what is large is measured on the range of float16."""
    edge = settings.bin_edge_location * torch.finfo(torch.float16).max
    # A NaN is in neither bin by comparison; it must count as large.
    small = torch.stack([(gradient.abs() <= edge).sum() for gradient in gradients]).sum()
    return sum(gradient.numel() for gradient in gradients) - small, small


def next_scale(
    factor: torch.Tensor,
    large: torch.Tensor,
    small: torch.Tensor,
    scaling: Scalar,
    settings: LossScaleSettings,
) -> torch.Tensor:
    """The factor after `factor`, given the counts of gradient elements and the user's loss scaling."""
    threshold = settings.threshold_upper_count_proportion
    too_large = large.to(torch.float32) > small.to(torch.float32) * (threshold / (1 - threshold))
    largest = torch.ones_like(factor) * _LARGEST_SCALE / scaling
    # a scale that began above the largest one does not grow, and comes down by halves like any other
    larger = torch.maximum(torch.minimum(factor * 2.0, largest), factor)
    return torch.where(too_large, factor * 0.5, larger)


def advance(
    spec: OptimizerSpec,
    gradients: Sequence[torch.Tensor],
    state: Mapping[str, torch.Tensor],
    hyper: Mapping[str, torch.Tensor],
) -> None:
    """Adapts the factor in `state`, in place, after an update with `gradients` of float16 weights."""
    settings = spec.automatic_loss_scaling
    if settings is None or not gradients:
        return
    factor = state[UPDATE_FACTOR]
    counts = count_elements(gradients, settings)
    following = next_scale(factor, *counts, user_scale(spec, hyper), settings)
    if settings.update_period > 1:
        count = state[UPDATE_COUNT]
        count.add_(1.0)
        due = count >= settings.update_period
        following = torch.where(due, following, factor)
        count.copy_(torch.where(due, torch.zeros_like(count), count))
    factor.copy_(following)
