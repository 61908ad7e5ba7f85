"""The printing op: value, gradient, identity."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.frontends.torch.ops.print_tensor import print_tensor

STYLE = (1000, 3, 80, 4, 0, " ", "[", "]")


def test_prints_when_run_not_when_recorded(record: Any, capfd: pytest.CaptureFixture[str]) -> None:
    recorded = record(lambda w, x: print_tensor(x * w, "twice", True, *STYLE) + 1, torch.ones(2))
    assert capfd.readouterr().err == ""
    (result,) = recorded(torch.tensor([1.0, 2.0]))
    assert capfd.readouterr().err == "twice: [2.000 4.000]\n"
    assert result.tolist() == [3.0, 5.0]


def test_prints_the_gradient_with_its_own_title(record: Any, capfd: pytest.CaptureFixture[str]) -> None:
    def loss(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(print_tensor(x * weight, "y", True, *STYLE), torch.zeros(1))

    recorded = record(loss, torch.ones(1), training=True)
    _, gradient = recorded(torch.tensor([3.0]))
    assert capfd.readouterr().err == "y: [6.000]\ny_gradient: [12.00]\n"
    assert gradient.item() == 36.0


def test_gradient_may_stay_silent(record: Any, capfd: pytest.CaptureFixture[str]) -> None:
    def loss(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(print_tensor(x * weight, "y", False, *STYLE), torch.zeros(1))

    record(loss, torch.ones(1), training=True)(torch.ones(1))
    assert "gradient" not in capfd.readouterr().err


def test_writing_to_the_result_leaves_the_operand_alone() -> None:
    x = torch.ones(2)
    print_tensor(x, "", False, *STYLE).add_(1)
    assert x.tolist() == [1.0, 1.0]


def test_a_title_from_a_file_does_not_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    print_tensor(torch.ones(1), "\x1b[2Jtitle", False, *STYLE)
    assert capfd.readouterr().err.startswith("·[2Jtitle: ")
