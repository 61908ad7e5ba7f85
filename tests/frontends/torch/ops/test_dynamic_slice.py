"""Slices at run-time positions: the device's rules in a capture, torch's outside."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.ops.dynamic_slice import dynamic_slice, dynamic_update

EIGHT = torch.arange(8.0)


def at(value: int) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.int32)


@pytest.mark.parametrize(
    ("start", "step", "expected"), [(1, 1, [1, 2, 3, 4]), (1, 3, [1, 4]), (6, 1, [6, 7, 0, 1])]
)
def test_slice_follows_the_position_and_wraps(
    record: Any, start: int, step: int, expected: list[int]
) -> None:
    recorded = record(lambda w, x, s: dynamic_slice(x, 0, s, 4, step), EIGHT, at(0))
    (result,) = recorded(EIGHT, at(start))
    assert result.tolist() == expected


def test_slice_outside_a_capture_is_torchs() -> None:
    assert dynamic_slice(EIGHT, 0, at(6), 4, 1).tolist() == [6, 7]
    assert dynamic_slice(EIGHT, 0, at(2), 5, 2).tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "start and end of a slice must be different"),
        (-2, "end less than the start is not supported"),
        (7, r"size of the slice \(7\) must be a factor of the slicing dimension \(8\)"),
    ],
)
def test_sizes_that_the_device_refuses(record: Any, size: int, message: str) -> None:
    with pytest.raises(Error, match=message):
        record(lambda w, x, s: dynamic_slice(x, 0, s, size, 1), EIGHT, at(0))


def test_update_writes_at_the_position_and_wraps(record: Any) -> None:
    recorded = record(
        lambda w, x, y, s: dynamic_update(x, y, 1, s, 2), torch.zeros(2, 3), torch.zeros(2, 2), at(0)
    )
    (result,) = recorded(torch.zeros(2, 3), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), at(2))
    assert result.tolist() == [[2, 0, 1], [4, 0, 3]]


def test_update_does_not_change_its_operand(record: Any) -> None:
    x = torch.zeros(3)
    record(lambda w, a, s: dynamic_update(a, a[:1] + 1, 0, s, 1), x, at(0))(x, at(1))
    dynamic_update(x, torch.ones(1), 0, at(1), 1)
    assert x.tolist() == [0, 0, 0]


def test_gradient_goes_to_the_slice(record: Any) -> None:
    def loss(weight: torch.Tensor, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.l1_loss(dynamic_slice(x * weight, 0, start, 2, 1), torch.zeros(2))

    _, gradient = record(loss, EIGHT, at(0), training=True)(EIGHT, at(3))
    assert gradient.item() == pytest.approx((3 + 4) / 2)


def test_start_must_be_one_integer() -> None:
    with pytest.raises(Error, match="integer tensor"):
        dynamic_slice(EIGHT, 0, torch.tensor([1.0]), 2, 1)
    with pytest.raises(Error, match="one number"):
        dynamic_slice(EIGHT, 0, torch.tensor([1, 2]), 2, 1)
    with pytest.raises(Error, match="at least 1"):
        dynamic_slice(EIGHT, 0, at(1), 2, 0)
