"""Indices are compared with sizes before compiled code runs: which ones, and what a wrong one becomes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute.index_bounds import Range
from tremula.frontends.torch.execute.index_checks import IndexChecks, index_checks, within

F = torch.nn.functional
TABLE = torch.arange(40.0).reshape(10, 4)
NUMBERS = torch.tensor([[1, 2, 3], [4, 5, 9]])


def _checks(function: Callable[..., Any], *arguments: torch.Tensor, held: int = 1) -> IndexChecks | None:
    return index_checks(make_fx(function)(*arguments), held, len(arguments) - held)


@given(
    st.lists(st.integers(-20, 20), max_size=6),
    st.integers(-12, 3),
    st.integers(-1, 12),
    st.sampled_from([None, -20, 5]),
    st.sampled_from([torch.int64, torch.int32, torch.int16]),
)
def test_values_are_within_a_range_or_not(
    values: list[int], low: int, high: int, also: int | None, dtype: torch.dtype
) -> None:
    expected = all(low <= value <= high or value == also for value in values)
    # a range of indices begins at 0 or below
    if low <= 0:
        assert within(torch.tensor(values, dtype=dtype), Range(low, high, also)) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda t, i: F.embedding(i, t), Range(0, 9)),
        (lambda t, i: t[i.view(-1)], Range(-10, 9)),
        (lambda t, i: t[:, i.int().long()], Range(-4, 3)),
        (lambda t, i: t.index_select(0, i[0].new_tensor([1]) * 0 + i.reshape(-1)), None),
        (lambda t, i: t.gather(1, i), Range(0, 3)),
        (lambda t, i: torch.zeros(10, 4).scatter_add(1, i, t), Range(0, 3)),
        (lambda t, i: F.nll_loss(t, i[0].expand(10, 3)[:, 0] * 0 + i.reshape(-1)[:1].expand(10)), None),
        (lambda t, i: F.nll_loss(t[:6], i.reshape(6), ignore_index=-7), Range(0, 3, -7)),
        (lambda t, i: F.embedding(i, t[:8]) + F.embedding(i.t(), t).transpose(0, 1), Range(0, 7)),
    ],
)
def test_indices_that_are_inputs(function: Callable[..., Any], expected: Range | None) -> None:
    found = _checks(function, TABLE, NUMBERS % 4)
    assert found is not None
    assert found.settled
    if expected is None:
        assert found.computed is not None
    else:
        assert found.inputs == {0: expected}
        assert found.computed is None


@pytest.mark.parametrize(
    "function",
    [
        lambda t, x: t[x.argmax(0)],
        lambda t, x: t.gather(0, x.sort(0)[1]),
        lambda t, x: t.gather(0, x.topk(2, 0).indices),
        lambda t, x: t.gather(0, x.max(0, keepdim=True)[1]),
        lambda t, x: t[(x * 3).long().clamp(0, 9)],
        lambda t, x: t[(x * 3).long().remainder(10)],
        lambda t, x: t[torch.arange(10)],
        lambda t, x: t[torch.where(x > 0, x.argmax(), x.argmin()).clamp(max=9)],
        lambda t, x: torch.where(x > 0, t, x),
    ],
)
def test_indices_that_cannot_be_wrong_need_no_look(function: Callable[..., Any]) -> None:
    assert _checks(function, TABLE, TABLE.cos()) is None


def test_indices_of_whole_numbers_are_computed_before_the_call() -> None:
    def positions(table: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        kept = tokens.ne(1).int()
        return F.embedding((kept.cumsum(1) * kept).long() + 1, table)

    found = _checks(positions, TABLE, NUMBERS)
    assert found is not None
    assert (found.inputs, found.settled) == ({}, True)
    assert found.sound([TABLE], [[NUMBERS, NUMBERS]])
    assert not found.sound([TABLE[:3]], [[NUMBERS, torch.full((2, 12), 2)]])


@pytest.mark.parametrize(
    "function",
    [
        lambda t, x: t[(x * 3).long()],
        lambda t, x: t[x.argmax().view(1)],  # of all 40
        lambda t, x: t[torch.randint(0, 2, (3,)) * 7],
    ],
)
def test_other_indices_are_left_to_one_thread(function: Callable[..., Any]) -> None:
    found = _checks(function, TABLE, TABLE.cos())
    assert found is not None
    assert not found.settled


def test_what_is_written_to_is_not_looked_at_before() -> None:
    def counts(table: torch.Tensor, at: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        row = table[at] + x
        at.add_(1)
        return row

    found = _checks(counts, TABLE, torch.zeros(10, dtype=torch.int64), TABLE, held=2)
    assert found is not None
    assert not found.settled


def test_parts_of_a_batch_and_the_state_are_looked_at() -> None:
    found = _checks(
        lambda t, held, i: F.embedding(i, t) + F.embedding(held, t), TABLE, NUMBERS, NUMBERS.clone(), held=2
    )
    assert found is not None
    batch = torch.arange(24).reshape(8, 3) % 10
    apart = [NUMBERS, NUMBERS.flip(0).clone()]
    assert found.sound([TABLE, NUMBERS], [torch.split(batch, 2)])
    assert found.sound([TABLE, NUMBERS], [apart])
    assert not found.sound([TABLE, NUMBERS + 10], [apart])
    assert not found.sound([TABLE, NUMBERS], [[NUMBERS, NUMBERS - 2]])
    batch[-1, -1] = 10
    assert not found.sound([TABLE, NUMBERS], [torch.split(batch, 2)])


_PROGRAM = """
import torch, poptorch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(100, 512)
    def forward(self, x):
        return self.table(x).sum(1).relu().mul(2.0).sum(1)
model = poptorch.inferenceModel(Net().eval())
x = torch.randint(0, 100, (512, 32))
expected = model(x)
assert model._device.program.executable.form == "compiled", model._device.program.executable.report
for wrong in (100, 10**9, -1):
    bad = x.clone()
    bad[400, 3] = wrong
    try:
        model(bad)
    except IndexError as problem:
        print("IndexError", problem)
assert torch.equal(model(x), expected)
"""


@pytest.mark.slow
def test_a_wrong_index_raises_in_compiled_code_of_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "TREMULA_EXECUTION": "compiled",
        "TREMULA_THREADS": "2",
        "POPTORCH_IPU_MODEL": "1",
    }.items():
        monkeypatch.setenv(name, value)
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.count("IndexError") == 3
