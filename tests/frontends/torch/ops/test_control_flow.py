"""Loops and branches, recorded and plain."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.ops.control_flow import cond, for_loop


def test_loop_feeds_results_back(record: Any) -> None:
    def model(weight: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
        return for_loop(5, lambda a, b: (a * weight, b + a), [x, x])

    assert [t.item() for t in record(model, torch.zeros(1))(torch.ones(1))] == [32.0, 32.0]
    assert [t.item() for t in model(torch.tensor(2.0), torch.ones(1))] == [32.0, 32.0]


def test_loop_passes_by_value(record: Any) -> None:
    def grow(y: torch.Tensor) -> torch.Tensor:
        y += 1
        return y

    x = torch.ones(2)
    (result,) = record(lambda w, a: for_loop(3, grow, [a])[0], torch.zeros(2))(x)
    assert (result.tolist(), x.tolist()) == ([4.0, 4.0], [1.0, 1.0])
    assert for_loop(3, grow, [x])[0].tolist() == [4.0, 4.0]
    assert x.tolist() == [1.0, 1.0]


def test_loop_of_no_iterations_returns_its_inputs() -> None:
    assert for_loop(0, lambda x: x + 1, [torch.ones(1)])[0].item() == 1.0


def test_loop_body_must_return_what_it_takes(record: Any) -> None:
    with pytest.raises(Error, match="takes 1 tensors but returns 2"):
        record(lambda w, x: for_loop(2, lambda a: (a, a), [x])[0], torch.zeros(1))


@pytest.mark.parametrize("taken", [True, False])
def test_branch_is_chosen_at_run_time(record: Any, taken: bool) -> None:
    def model(weight: torch.Tensor, choose: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
        return cond(choose, lambda a: (a + 1, a), [x], lambda a, b: (a - 1, b * weight), [x, x])

    recorded = record(model, torch.tensor([not taken]), torch.zeros(1))
    results = recorded(torch.tensor([taken]), torch.tensor([5.0]))
    assert [t.item() for t in results] == ([6.0, 5.0] if taken else [4.0, 10.0])
    plain = model(torch.tensor(2.0), torch.tensor([taken]), torch.tensor([5.0]))
    assert [t.item() for t in plain] == [t.item() for t in results]


def test_plain_branch_runs_one_body_only() -> None:
    def never() -> torch.Tensor:
        raise AssertionError("the other branch ran")

    assert cond(torch.tensor([True]), lambda: torch.ones(1), [], never, [])[0].item() == 1.0


def test_a_branch_that_is_not_taken_cannot_spoil_the_result(record: Any) -> None:
    def model(weight: torch.Tensor, choose: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return cond(choose, lambda a: a / 0, [x], lambda a: a, [x])[0]

    (result,) = record(model, torch.tensor([True]), torch.zeros(1))(torch.tensor([False]), torch.zeros(1))
    assert result.item() == 0.0


@pytest.mark.parametrize(
    ("then_body", "message"),
    [
        (lambda a: (a, a), "2 and 1 tensors"),
        (lambda a: a.repeat(2), "result 0"),
        (lambda a: a.int(), "result 0"),
    ],
)
def test_branches_must_agree(record: Any, then_body: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        record(
            lambda w, c, x: cond(c, then_body, [x], lambda a: a, [x])[0], torch.tensor([True]), torch.zeros(1)
        )


def test_condition_must_be_single(record: Any) -> None:
    with pytest.raises(Error, match="single value"):
        record(lambda w, c: cond(c, lambda: w, [], lambda: w, [])[0], torch.tensor([True, False]))


@pytest.mark.parametrize(
    ("what", "call"),
    [
        (r"for_loop\(\)", lambda x: for_loop(2, lambda a: a, [x])),
        (r"cond\(\)", lambda x: cond(x > 0, lambda: x, [], lambda: x, [])),
    ],
)
def test_only_in_inference(record: Any, what: str, call: Any) -> None:
    with pytest.raises(Error, match=rf"poptorch\.{what} is only supported in inference"):
        record(lambda w, x: call(x)[0], torch.zeros(1), training=True)
