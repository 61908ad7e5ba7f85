"""Assertions about models, as users' tests call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tremula import ask, testing
from tremula.errors import Error


def perceptron(width: int = 64) -> Callable[[], Any]:
    def make() -> Any:
        model = torch.nn.Sequential(
            torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)
        )
        return model, torch.zeros(4, width)

    return make


def test_a_small_model_fits() -> None:
    testing.assert_fits(perceptron(), target="bow", ipus=1)


def test_a_model_that_is_too_large_names_the_modelled_fill() -> None:
    with pytest.raises(AssertionError, match=r"of a tile"):
        testing.assert_fits(perceptron(20_000), target="mk2", ipus=1)


def test_throughput_is_compared_with_the_middle_or_the_lower_end() -> None:
    figure = ask.estimate(ask.factory(perceptron()), target="mk2", ipus=1).results[0]["throughput"]
    between = (figure.low + figure.value) / 2
    testing.assert_throughput(perceptron(), between, target="mk2", ipus=1)
    with pytest.raises(AssertionError, match="lower end"):
        testing.assert_throughput(perceptron(), between, cautious=True, target="mk2", ipus=1)


def test_supported_ops_pass() -> None:
    testing.assert_no_unsupported_ops(perceptron())


def test_an_unsupported_op_is_named_with_its_line() -> None:
    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.bessel_j0(x)

    with pytest.raises((AssertionError, Error), match=r"bessel_j0[\s\S]*test_assertions\.py"):
        testing.assert_no_unsupported_ops(lambda: (Odd(), torch.zeros(4, 4)))


def test_a_saved_result_is_the_gate_for_a_change(tmp_path: Path) -> None:
    from tremula.study.saved import save

    before = tmp_path / "before.json"
    save(ask.estimate(ask.factory(perceptron()), target="mk2", ipus=1).results, before)
    testing.assert_no_regression(
        before, perceptron(), "worst_tile>+1%", "throughput<-1%", target="mk2", ipus=1
    )
    with pytest.raises(AssertionError, match="1 of 2 limits"):
        testing.assert_no_regression(
            before, perceptron(512), "memory>+10%", "throughput<-99%", target="mk2", ipus=1
        )


def test_a_regression_needs_a_limit(tmp_path: Path) -> None:
    with pytest.raises(Error, match="at least one limit"):
        testing.assert_no_regression(tmp_path / "a.json", tmp_path / "b.json")


def test_a_model_that_cannot_be_estimated_is_an_error_not_a_pass() -> None:
    with pytest.raises(Error):
        testing.assert_fits("no_such_file.py:make")
