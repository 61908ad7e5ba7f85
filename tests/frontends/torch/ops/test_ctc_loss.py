"""CTC loss: classes are compared with their number before torch's kernel, which trusts them, sees them."""

from __future__ import annotations

import pytest
import torch

import tremula.frontends.torch.ops.ctc_loss  # noqa: F401 - defines the op

LOG_PROBS = torch.randn(8, 2, 5).log_softmax(-1)
LENGTHS, TARGET_LENGTHS = torch.tensor([8, 8]), torch.tensor([2, 1])


def _loss(targets: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = torch.ops.tremula.ctc_loss(LOG_PROBS, targets, LENGTHS, TARGET_LENGTHS, 0, False)
    return result


@pytest.mark.parametrize("wrong", [5, -1, 10**8])
def test_a_class_out_of_range_is_an_error(wrong: int) -> None:
    with pytest.raises(
        IndexError, match=f"class {wrong} in the targets is out of range; there are 5 classes"
    ):
        _loss(torch.tensor([[1, wrong], [2, 0]]))


def test_what_lies_beyond_the_length_of_a_target_does_not_matter() -> None:
    assert torch.equal(_loss(torch.tensor([[1, 2], [3, -1]])), _loss(torch.tensor([[1, 2], [3, 0]])))


def test_targets_in_one_row_are_compared_too() -> None:
    with pytest.raises(IndexError, match="class 77"):
        _loss(torch.tensor([1, 77, 3]))
