"""Shapes that would need another compilation, and what is advised."""

from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from tremula.advise.compile_time import compile_time_of
from tremula.advise.recompilations import recompilations
from tremula.errors import Error


def test_a_short_last_batch() -> None:
    loader = DataLoader(TensorDataset(torch.zeros(22, 3), torch.zeros(22)), batch_size=4)
    found = recompilations(loader, compile_time=compile_time_of(1000))
    assert found.compilations == 1
    assert found.short_last_batch
    assert "drop_last=True" in found.advice[0]
    assert found.seconds == pytest.approx(compile_time_of(1000).seconds)
    assert "1 more compilations, predicted" in str(found)


def test_varying_lengths() -> None:
    found = recompilations([torch.zeros(4, n) for n in (7, 9, 7, 12)])
    assert found.compilations == 2
    assert found.varying == {(0, 1): (7, 12)}
    assert "12 is the longest" in found.advice[0]
    json.dumps(found.to_plain())
    assert found._repr_html_().startswith("<pre>")


def test_equal_shapes_are_compiled_once() -> None:
    found = recompilations([{"x": torch.zeros(4, 2), "y": torch.zeros(4)}] * 5)
    assert found.compilations == 0
    assert "one compilation" in str(found)
    assert not found.advice


def test_shapes_can_be_given_as_numbers() -> None:
    assert recompilations([(4, 3), (4, 3), (2, 3)]).compilations == 1
    assert recompilations([[(4, 3), (4,)], [(4, 3), (4,)]]).compilations == 0


def test_another_dtype_is_another_program() -> None:
    found = recompilations([torch.zeros(4), torch.zeros(4).half()])
    assert found.compilations == 1
    assert "dtypes" in found.advice[0]


@pytest.mark.parametrize("batches", [[], ["text"], [3]])
def test_what_is_no_batch_is_refused(batches: list[object]) -> None:
    with pytest.raises(Error):
        recompilations(batches)


def test_endless_data_are_looked_at_for_a_while() -> None:
    def endless():
        while True:
            yield (4, 3)

    found = recompilations(endless(), limit=100)
    assert found.batches == 100
    assert found.more


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=20))
def test_there_is_a_compilation_for_each_distinct_shape(shapes: list[tuple[int, int]]) -> None:
    found = recompilations(shapes)
    assert found.compilations == len(set(shapes)) - 1
    assert sum(count for _, count in found.signatures) == len(shapes)
    assert bool(found.advice) == (found.compilations > 0)
