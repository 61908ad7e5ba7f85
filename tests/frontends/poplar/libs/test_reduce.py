"""Reductions give what NumPy gives, as calls and as vertices in compute sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popops
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT

from .running import LAYOUTS, Case, arrays

Op = popops.Operation

REFERENCE: dict[Any, Any] = {
    Op.ADD: np.sum, Op.MUL: np.prod, Op.MAX: np.max, Op.MIN: np.min, Op.LOGICAL_AND: np.all, Op.LOGICAL_OR: np.any,
    Op.SQUARE_ADD: lambda x, axis: np.sum(np.square(x), axis=axis),
    Op.LOG_ADD: lambda x, axis: np.log(np.sum(np.exp(x), axis=axis)),
}  # fmt: skip


@given(
    operation=st.sampled_from(list(Op)),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    chosen=st.sets(st.integers(0, 2)),
    layout=st.sampled_from(LAYOUTS),
    in_sets=st.booleans(),
    seed=st.integers(0, 9),
)
def test_any_dimensions_of_any_layout(
    operation: Any, shape: list[int], chosen: set[int], layout: str, in_sets: bool, seed: int
) -> None:
    dims = [each for each in chosen if each < len(shape)]
    values = arrays(tuple(shape), seed)
    if operation in (Op.LOGICAL_AND, Op.LOGICAL_OR):
        values = values > -2
    case = Case()
    view = case.tensor(values, layout=layout)
    where: Any = [] if in_sets else case.program
    made = popops.reduce(case.graph, view, dims, operation, where)
    if in_sets:
        assert 1 <= len(where) <= 2
        case.execute(where)
    case.run()
    np.testing.assert_allclose(
        case[made], REFERENCE[operation](values, axis=tuple(dims)), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("in_sets", [False, True])
def test_a_result_is_scaled_and_updates_the_output(in_sets: bool) -> None:
    case = Case()
    x = arrays((40, 6), 3)
    view, scale = case.tensor(x, layout="transposed"), case.tensor(np.float32(0.5))
    out, out2 = case.tensor(np.arange(6, dtype=np.float32)), case.tensor(np.zeros(6, np.float32))
    where: Any = [] if in_sets else case.program
    popops.reduceWithOutput(case.graph, view, out, [0], popops.ReduceParams(Op.ADD, True, scale), where)
    popops.reduceWithOutput(
        case.graph, view, out2, [0], popops.ReduceParams(Op.SQUARE_ADD), where, "name", {}
    )
    if in_sets:
        case.execute(where)
    case.run()
    np.testing.assert_allclose(case[out], np.arange(6) + 0.5 * x.sum(0), rtol=1e-5)
    np.testing.assert_allclose(case[out2], np.square(x).sum(0), rtol=1e-5)


def test_halves_are_added_in_single_precision() -> None:
    case = Case()
    ones = case.tensor(np.full(4096, 0.1), HALF)
    half = popops.reduce(case.graph, ones, [0], popops.ReduceParams(Op.ADD), case.program)
    full = popops.reduce(case.graph, ones, FLOAT, [0], popops.ReduceParams(Op.ADD), case.program)
    sets: list[Any] = []
    spread = popops.reduce(case.graph, ones, FLOAT, [0], popops.ReduceParams(Op.ADD), sets)
    case.execute(sets)
    case.run()
    exact = 4096 * float(np.float16(0.1))
    assert half.type is HALF
    assert case[half] == np.float16(exact)
    np.testing.assert_allclose([case[full], case[spread]], exact, rtol=1e-6)


def test_integers_wrap_and_empty_sums_are_zero() -> None:
    case = Case()
    large = case.tensor(np.int32([2**31 - 1, 1]))
    empty = case.graph.add_variable(FLOAT, (0, 3))
    wrapped = popops.reduce(case.graph, large, [0], Op.ADD, case.program)
    zero = popops.reduce(case.graph, empty, [0], Op.ADD, case.program)
    case.run()
    assert case[wrapped] == -(2**31)
    assert wrapped.type is INT
    np.testing.assert_array_equal(case[zero], np.zeros(3))


def test_many_reductions_at_once() -> None:
    case = Case()
    x = arrays((3, 4), 0)
    view = case.tensor(x)
    outputs: list[Any] = []
    several = [
        popops.SingleReduceOp(view, [0], popops.ReduceParams(Op.ADD)),
        popops.SingleReduceOp(view, [1], Op.MAX, FLOAT, "largest"),
    ]
    popops.reduceMany(case.graph, several, outputs, case.program)
    case.run()
    np.testing.assert_allclose(case[outputs[0]], x.sum(0), rtol=1e-6)
    np.testing.assert_array_equal(case[outputs[1]], x.max(1))
    assert [each.operation for each in case.works] == ["add", "max"]


def test_partial_results_lie_where_the_elements_lie() -> None:
    case = Case()
    x = arrays((16, 8), 0)
    view = case.tensor(x)
    for row in range(16):
        case.graph.set_tile_mapping(view[row], row)
    out = case.tensor(np.zeros(8, np.float32))
    sets: list[Any] = []
    popops.reduceWithOutput(case.graph, view, out, [0], popops.ReduceParams(Op.ADD), sets)
    assert len(sets) == 2
    assert [next(iter(each.batches.values())).count for each in sets] == [16, 1]
    rows: list[Any] = []
    by_row = case.tensor(np.zeros(16, np.float32))
    for row in range(16):
        case.graph.set_tile_mapping(by_row[row], row)
    popops.reduceWithOutput(case.graph, view, by_row, [1], popops.ReduceParams(Op.ADD), rows)
    assert len(rows) == 1
    case.execute([*sets, *rows])
    case.run()
    np.testing.assert_allclose(case[out], x.sum(0), rtol=1e-5)
    np.testing.assert_allclose(case[by_row], x.sum(1), rtol=1e-5)


def test_what_cannot_be_reduced_is_an_error() -> None:
    case = Case()
    view, truth = case.tensor(arrays((2, 3), 0)), case.tensor(np.array([True]))
    for wrong, text in (
        (lambda: popops.reduce(case.graph, view, [2], Op.ADD, case.program), "dimensions"),
        (lambda: popops.reduce(case.graph, truth, [0], Op.ADD, case.program), "type bool"),
        (lambda: popops.reduce(case.graph, view, BOOL, [0], Op.ADD, case.program), "to bool"),
        (
            lambda: popops.reduce(case.graph, view, [0], popops.ReduceParams(Op.MAX, True), case.program),
            "sums",
        ),
        (
            lambda: popops.reduce(case.graph, view, [0], popops.ReduceParams(Op.ADD, True), case.program),
            "updates",
        ),
        (lambda: popops.ReduceParams(Op.ADD, 0.5), "scale is a tensor"),
    ):
        with pytest.raises(PoplibsError, match=text):
            wrong()
