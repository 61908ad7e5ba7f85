"""Python code in the middle of a program."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.capture.context import current
from tremula.frontends.torch.ops.host_call import HostFunction


def add_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_is_called_in_every_run_on_real_host_tensors(record: Any) -> None:
    seen: list[list[float]] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        assert x.device.type == "cpu"
        assert current() is None
        seen.append(x.tolist())
        return x * 2

    function = HostFunction(look, "look")
    recorded = record(lambda w, x: function(x) + 1, torch.ones(2))
    assert all(values == [0.0, 0.0] for values in seen)
    seen.clear()
    for value in (1.0, 2.0):
        assert recorded(torch.full((2,), value))[0].tolist() == [2 * value + 1] * 2
    assert seen == [[1.0, 1.0], [2.0, 2.0]]


def test_several_results_of_other_shapes(record: Any) -> None:
    function = HostFunction(lambda x, y: (x * y, x.sum()), "two")
    recorded = record(lambda w, x, y: function(x, y), torch.zeros(2, 2), torch.zeros(1))
    product, total = recorded(torch.ones(2, 2), torch.tensor([3.0]))
    assert (product.tolist(), total.item()) == ([[3.0, 3.0], [3.0, 3.0]], 4.0)


def test_code_that_returns_its_input_cannot_change_it_later(record: Any) -> None:
    function = HostFunction(lambda x: x, "same")
    x = torch.ones(2)
    (result,) = record(lambda w, a: function(a).add_(1), x)(x)
    assert (result.tolist(), x.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_a_program_outliving_its_function_says_so(record: Any) -> None:
    functions = [HostFunction(add_one, "gone")]
    recorded = record(lambda w, x: functions[0](x), torch.zeros(1))
    functions.clear()
    gc.collect()
    with pytest.raises(Error, match="host function gone"):
        recorded.graph(recorded.weight, torch.zeros(1))


def test_copies_are_functions_of_their_own() -> None:
    function = HostFunction(add_one, "f")
    pickled = pickle.dumps(function)
    for clone in (copy.deepcopy(function), pickle.loads(pickled)):  # noqa: S301 - our own bytes
        assert clone.number != function.number
        assert (clone.function, clone.name) == (add_one, "f")
