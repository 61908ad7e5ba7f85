"""Gradients that the device defines in its own way."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.frontends.onnx.settings import Settings

from .models import run_node


def gradients(type: str, *values: Any, wanted: int | None = None, **options: Any) -> list[torch.Tensor]:
    tensors = [
        torch.tensor(each, requires_grad=True) if place != wanted else torch.tensor(each)
        for place, each in enumerate(values)
    ]
    (result,) = run_node(type, *tensors, **options)[:1]
    asked = [each for each in tensors if each.requires_grad]
    return list(torch.autograd.grad(result.sum(), asked))


@pytest.mark.parametrize("type", ["Max", "Min"])
def test_equal_operands_both_get_the_whole_gradient(type: str) -> None:
    first, second = gradients(type, [1.0, 2.0], [1.0, 2.0])
    assert first.tolist() == second.tolist() == [1.0, 1.0]


def test_the_gradient_of_a_broadcast_operand_is_summed() -> None:
    first, second = gradients("Max", [[1.0, 5.0], [3.0, 0.0]], [2.0])
    assert first.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert second.tolist() == [2.0]


@pytest.mark.parametrize("type", ["ReduceMax", "ReduceMin"])
def test_equal_largest_elements_all_get_the_whole_gradient(type: str) -> None:
    (found,) = gradients(type, [[4.0, 4.0], [4.0, 4.0]], axes=[1])
    assert found.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_there_is_no_gradient_on_a_bound() -> None:
    (found,) = gradients("Clip", [0.0, 1.0, 2.0, 3.0], opset=10, min=0.0, max=2.0)
    assert found.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_dropout_drops_the_same_elements_from_the_gradient() -> None:
    tensor = torch.ones(200, requires_grad=True)
    settings = Settings(training=True, generator=torch.Generator().manual_seed(3))
    (kept,) = run_node("Dropout", tensor, opset=10, settings=settings, ratio=0.25)
    (gradient,) = torch.autograd.grad(kept.sum(), [tensor])
    assert torch.equal(gradient, kept.detach())
    assert sorted(set(gradient.tolist())) == [0.0, pytest.approx(4 / 3)]


def test_a_median_passes_its_gradient_to_the_element_that_it_is() -> None:
    (found,) = gradients("ReduceMedian", [[3.0, 1.0, 2.0, 4.0]], domain="ai.graphcore", outputs=2, axes=[1])
    assert found.tolist() == [[0.0, 0.0, 1.0, 0.0]]


def test_detach_stops_the_gradient() -> None:
    tensor = torch.ones(2, requires_grad=True)
    (result,) = run_node("Detach", tensor, domain="ai.graphcore")
    assert not result.requires_grad


def test_an_exponent_that_is_trained_gets_a_gradient() -> None:
    base, exponent = gradients("Pow", [2.0], [3.0])
    assert base.tolist() == [12.0]
    assert exponent.tolist() == [pytest.approx(8 * torch.tensor(2.0).log().item())]
