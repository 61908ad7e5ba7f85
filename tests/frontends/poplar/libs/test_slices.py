"""Slices and updates at offsets that the program computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popops
from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.types import FLOAT, UNSIGNED_INT

from .running import LAYOUTS, Case, arrays


@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 3)),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    offsets=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    dims=st.sampled_from([(0, 1), (1, 0), (1,), (0,)]),
    layout=st.sampled_from(LAYOUTS),
)
def test_a_slice_goes_on_at_the_beginning(
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    offsets: tuple[int, ...],
    dims: tuple[int, ...],
    layout: str,
) -> None:
    sizes = tuple(min(size, shape[dim]) for dim, size in zip(dims, sizes, strict=False))
    places = [offset % shape[dim] for dim, offset in zip(dims, offsets, strict=False)]
    x = arrays(shape, 0)
    case = Case()
    view, offset = case.tensor(x, layout=layout), case.tensor(np.uint32(places))
    found = popops.dynamicSlice(case.graph, view, offset, dims, sizes, case.program)
    expected = x
    for dim, place, size in zip(dims, places, sizes, strict=True):
        expected = np.take(expected, (place + np.arange(size)) % shape[dim], axis=dim)
    again = case.tensor(np.zeros(shape, np.float32), layout=layout)
    popops.dynamicUpdate(case.graph, again, found, offset, dims, sizes, case.program)
    back = popops.dynamicSlice(case.graph, again, offset, dims, sizes, case.program)
    case.run()
    np.testing.assert_array_equal(case[found], expected)
    np.testing.assert_array_equal(case[back], expected)
    assert np.count_nonzero(case[again]) == np.count_nonzero(expected)


def test_offsets_outside() -> None:
    case = Case()
    x = np.arange(6, dtype=np.float32)
    view, far, end = case.tensor(x), case.tensor(np.uint32([9])), case.tensor(np.uint32([6]))
    kept, zero, first = (case.tensor(np.full(2, 7, np.float32)) for _ in range(3))
    slices = popops.dynamicSliceWithOutput
    slices(case.graph, kept, view, far, [0], [2], case.program)
    slices(case.graph, zero, view, end, [0], [2], case.program, "", {"paddingIndexUsed": "true"})
    slices(case.graph, first, view, far, [0], [2], case.program, "", {"remapOutOfBoundIndices": "true"})
    popops.dynamicUpdate(case.graph, view, kept, far, [0], [2], case.program)
    case.run()
    np.testing.assert_array_equal(case[kept], [7, 7])
    np.testing.assert_array_equal(case[zero], [0, 0])
    np.testing.assert_array_equal(case[first], [0, 1])
    np.testing.assert_array_equal(case[view], x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_slices_and_updates(layout: str) -> None:
    case = Case()
    x, rows = arrays((6, 4), 0), np.uint32([[5], [0], [5], [9]])
    view, offsets = case.tensor(x, layout=layout), case.tensor(rows)
    plan = popops.embedding.plan(case.graph, FLOAT, 6, 4, [4], {"availableMemoryProportion": "0.3"})
    found = popops.multiSlice(case.graph, view, offsets, [0], [1], case.program, plan, {})
    chosen = popops.multiSlice(case.graph, view, [3, 1, 8], 0, case.program)
    parts = arrays((4, 1, 4), 1)
    updates, scale = case.tensor(parts), case.tensor(np.float32(2))
    added, set_, largest, product = (case.tensor(x, layout=layout) for _ in range(4))
    popops.multiUpdateAdd(case.graph, added, updates, offsets, scale, [0], [1], case.program, plan, {})
    popops.multiUpdate(case.graph, set_, updates, offsets, [0], [1], case.program, plan, {})
    popops.multiUpdateMax(case.graph, largest, updates, offsets, [0], [1], case.program, plan, {})
    popops.multiUpdateMul(case.graph, product, updates, offsets, [0], [1], case.program, plan, {})
    case.run()
    np.testing.assert_array_equal(case[found][:, 0], [x[5], x[0], x[5], np.zeros(4)])
    np.testing.assert_array_equal(case[chosen][:, 0], [x[3], x[1], np.zeros(4)])
    wanted = x.copy()
    np.add.at(wanted, [5, 0, 5], 2 * parts[:3, 0])
    np.testing.assert_allclose(case[added], wanted, rtol=1e-6)
    wanted = x.copy()
    wanted[5], wanted[0] = parts[2, 0], parts[1, 0]
    np.testing.assert_array_equal(case[set_], wanted)
    wanted = x.copy()
    np.maximum.at(wanted, [5, 0, 5], parts[:3, 0])
    np.testing.assert_array_equal(case[largest], wanted)
    wanted = x.copy()
    np.multiply.at(wanted, [5, 0, 5], parts[:3, 0])
    np.testing.assert_allclose(case[product], wanted, rtol=1e-6)
    assert {each.proportion for each in case.works[:1]} == {0.3}


def test_groups_have_tables_of_their_own() -> None:
    case = Case()
    x, rows = arrays((2, 5, 3), 0), np.uint32([[[1], [4]], [[0], [0]]])
    view, offsets = case.tensor(x), case.tensor(rows)
    found = popops.groupedMultiSlice(
        case.graph, view, offsets, [0], [1], case.program, popops.SlicePlan(), {}
    )
    parts, scale = case.tensor(np.ones((2, 2, 1, 3), np.float32)), case.tensor(np.float32(1))
    popops.groupedMultiUpdateAdd(
        case.graph, view, parts, offsets, scale, [0], [1], case.program, popops.SlicePlan(), {}
    )
    case.run()
    np.testing.assert_array_equal(case[found][:, :, 0], [[x[0, 1], x[0, 4]], [x[1, 0], x[1, 0]]])
    np.testing.assert_allclose(case[view][1, 0], x[1, 0] + 2, rtol=1e-6)
    assert len(case.works) == 2


def test_sliceable_tensors_keep_each_column_on_one_tile() -> None:
    case = Case()
    made = popops.createSliceableTensor(case.graph, FLOAT, [7, 32], [0], [1])
    tiles = mapping.tiles_of(case.graph.memory, made).reshape(7, 32)
    assert made.shape == (7, 32)
    assert (tiles == tiles[0]).all()
    assert len(set(tiles[0])) == 16
    grouped = popops.createGroupedSliceableTensor(
        case.graph, FLOAT, 2, [7, 32], [0], [1], popops.SlicePlan(), {}
    )
    assert grouped.shape == (2, 7, 32)
    assert popops.createSliceTensor(case.graph, made, [0], [1], 5).shape == (5, 1, 32)
    with_plan = popops.createSliceTensor(
        case.graph, FLOAT, [7, 32], [0], [1], 5, popops.SlicePlan(), {}, "name"
    )
    assert with_plan.shape == (5, 1, 32)
    indices = popops.createIndicesTensor(case.graph, [0], 5, popops.SlicePlan(), {})
    assert indices.shape == (5, 1)
    assert indices.type is UNSIGNED_INT
    again = popops.createSliceableTensorFromSlice(case.graph, made[0:1], [0], [3])
    places = mapping.tiles_of(case.graph.memory, again).reshape(3, 32)
    assert (places == tiles[0]).all()


def test_plans_are_values_and_options_are_checked() -> None:
    case = Case()

    def plan(**options: Any) -> Any:
        return popops.embedding.plan(case.graph, FLOAT, 2, 6, 4, [4], options)

    assert plan() == plan()
    assert plan(availableMemoryProportion="0.1") != plan()
    with pytest.raises(InvalidOption, match="usedForFun"):
        plan(usedForFun="true")
    view, offset = case.tensor(arrays((4,), 0)), case.tensor(np.float32([0]))
    with pytest.raises(PoplibsError, match="unsigned integers"):
        popops.dynamicSlice(case.graph, view, offset, [0], [1], case.program)
    with pytest.raises(PoplibsError, match="size 5"):
        popops.dynamicSlice(case.graph, view, case.tensor(np.uint32([0])), [0], [5], case.program)
