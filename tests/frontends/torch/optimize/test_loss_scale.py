"""Automatic loss scaling: doubling, halving, its limit and its period."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.optimize.loss_scale import UPDATE_FACTOR, count_elements, loss_scale, next_scale
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import (
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)


def train(
    gradients: list[float],
    settings: LossScaleSettings,
    *,
    initial: float = 1.0,
    dtype: torch.dtype = torch.float16,
) -> tuple[list[float], Mapping[str, torch.Tensor]]:
    """Loss scales seen by successive updates with constant gradients, and the weights at the end."""
    values = {
        "learningRate": HyperValue(0.5),
        "momentum": HyperValue(0.0, True),
        "dampening": HyperValue(0.0, True),
        "weightDecay": HyperValue(0.0, True),
        "velocityScaling": HyperValue(1.0, True),
    }
    spec = OptimizerSpec(
        Kind.SGD,
        (GroupSpec(("w",), values),),
        loss_scaling=HyperValue(initial),
        automatic_loss_scaling=settings,
    )
    weights = {"w": torch.zeros(4, dtype=dtype)}
    state, hyper = initial_state(spec, weights), hyper_tensors(spec)
    scales = []
    for gradient in gradients:
        scale = torch.as_tensor(loss_scale(spec, state, hyper))
        scales.append(scale.item())
        apply_update(spec, weights, {"w": torch.full((4,), gradient, dtype=dtype) * scale}, state, hyper)
    return scales, weights


def test_small_gradients_double_the_scale_and_do_not_change_the_update() -> None:
    scales, weights = train([0.25] * 4, LossScaleSettings(), initial=2.0)
    assert scales == [2.0, 4.0, 8.0, 16.0]
    torch.testing.assert_close(weights["w"], torch.full((4,), -0.5, dtype=torch.float16))


def test_large_gradients_halve_the_scale() -> None:
    scales, _ = train([60000.0, 0.0, 0.0], LossScaleSettings())
    assert scales == [1.0, 0.5, 1.0]


def test_the_scale_stays_in_the_range_of_half_precision() -> None:
    scales, _ = train([0.0] * 20, LossScaleSettings(), initial=8.0)
    assert max(scales) == 2.0**15


def test_single_precision_weights_do_not_move_the_scale() -> None:
    scales, _ = train([0.0] * 3, LossScaleSettings(), dtype=torch.float32)
    assert scales == [1.0, 1.0, 1.0]


def test_a_scale_that_began_beyond_the_range_comes_down_by_halves() -> None:
    scales, _ = train([60000.0, 60000.0, 0.0, 0.0], LossScaleSettings(bin_edge_location=0.0), initial=2.0**20)
    assert scales == [2.0**20, 2.0**19, 2.0**18, 2.0**18]


def test_the_first_update_of_a_period_changes_the_scale() -> None:
    scales, _ = train([0.0] * 6, LossScaleSettings(update_period=2))
    assert scales == [1.0, 2.0, 2.0, 4.0, 4.0, 8.0]
    scales, _ = train([0.0] * 6, LossScaleSettings(update_period=3))
    assert scales == [1.0, 2.0, 2.0, 2.0, 4.0, 4.0]


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_values_that_are_no_numbers_count_as_large(value: float) -> None:
    large, small = count_elements([torch.tensor([value, 0.0], dtype=torch.float16)], LossScaleSettings())
    assert (large.item(), small.item()) == (1, 1)


@given(large=st.integers(0, 1000), small=st.integers(0, 1000), threshold=st.sampled_from([1e-7, 0.2, 0.5]))
def test_the_factor_is_halved_or_doubled(large: int, small: int, threshold: float) -> None:
    settings = LossScaleSettings(threshold_upper_count_proportion=threshold)
    factor = next_scale(torch.tensor(4.0), torch.tensor(large), torch.tensor(small), 1.0, settings).item()
    assert factor in (2.0, 8.0)
    if large == 0:
        assert factor == 8.0
    elif small == 0:
        assert factor == 2.0


def test_the_factor_is_part_of_the_state() -> None:
    spec = OptimizerSpec(Kind.SGD, (), automatic_loss_scaling=LossScaleSettings())
    assert initial_state(spec, {})[UPDATE_FACTOR].item() == 1.0
