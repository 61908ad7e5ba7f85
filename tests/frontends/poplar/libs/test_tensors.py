"""Fills, casts, scaled sums, gathers, padding, encodings, sorting, tests, loops and buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popops
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    Type,
)

from .running import LAYOUTS, Case, arrays


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fills_write_every_element_and_no_other(layout: str) -> None:
    case = Case()
    x = arrays((4, 3), 0)
    view, part, sets = (
        case.tensor(x, layout=layout),
        case.tensor(x, layout=layout),
        case.tensor(x, layout=layout),
    )
    popops.zero(case.graph, view, case.program)
    popops.fill(case.graph, part[1:3], case.program, 2.5)
    compute_set = case.graph.add_compute_set()
    popops.fill(case.graph, sets, 5, compute_set, 7)
    case.execute([compute_set])
    case.run()
    assert not case[view].any()
    assert (case[sets] == 7).all()
    np.testing.assert_array_equal(case[part], np.concatenate([x[:1], np.full((2, 3), 2.5), x[3:]]))


def test_fills_in_compute_sets_take_regions_and_mappings() -> None:
    case = Case()
    view = case.tensor(np.ones(8, np.float32))
    one = case.graph.add_compute_set()
    popops.zero(case.graph, view, [(1, 3), (5, 6)], 2, one)
    popops.zero(case.graph, view, [[(7, 8)], []], one)
    case.execute([one])
    case.run()
    np.testing.assert_array_equal(case[view], [1, 0, 0, 1, 1, 0, 1, 0])
    assert next(iter(one.batches.values())).tiles.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        (FLOAT, INT, [1.9, -1.9, np.nan, 1e20, -1e20], [1, -1, 0, 2**31 - 1, -(2**31)]),
        (FLOAT, UNSIGNED_INT, [1.9, -1.0, 4e9, 1e20], [1, 0, 4_000_000_000, 2**32 - 1]),
        (FLOAT, CHAR, [300, -300, 3.7], [127, -128, 3]),
        (FLOAT, UNSIGNED_CHAR, [300, -3, 3.7], [255, 0, 3]),
        (FLOAT, BOOL, [0.0, 0.5, np.nan], [False, True, True]),
        (FLOAT, HALF, [1.0004, 1e6], [np.float16(1.0004), np.inf]),
        (FLOAT, LONGLONG, [1.9, 1e30], [1, None]),
        (INT, FLOAT, [2**24 + 1, -3], [2**24, -3]),
        (INT, BOOL, [0, 5], [False, True]),
        (BOOL, FLOAT, [True, False], [1, 0]),
        (INT, UNSIGNED_INT, [-1], [2**32 - 1]),
    ],
)
def test_casts_go_towards_zero_and_stay_in_range(
    source: Type, target: Type, values: list[Any], expected: list[Any]
) -> None:
    case = Case()
    view = case.tensor(np.array(values), source)
    made = popops.cast(case.graph, view, target, case.program)
    out = popops.cast(case.graph, view, target, case.graph.add_compute_set())
    case.execute(case.graph.contents.compute_sets)
    case.program.add(popops.cast(case.graph, view, case.tensor(np.zeros(len(values)), target)))
    case.run()
    for result in (case[made], case[out]):
        for got, wanted in zip(result.tolist(), expected, strict=True):
            assert wanted is None or got == wanted
    assert made.type is target
    assert expected[-1] is not None or case[made][1] > 2**62


@given(
    first=st.sampled_from([FLOAT, HALF, INT]),
    second=st.sampled_from([FLOAT, HALF, INT]),
    subtract=st.booleans(),
    form=st.sampled_from(["number", "tensor", "two numbers", "two tensors", "complement"]),
    layout=st.sampled_from(LAYOUTS),
)
def test_scaled_sums(first: Type, second: Type, subtract: bool, form: str, layout: str) -> None:
    if (first is INT) != (second is INT):
        second = first
    if form == "complement" and subtract:
        subtract = False
    case = Case()
    x, y = np.rint(arrays((4, 3), 0)), np.rint(arrays((4, 3), 1))
    a, b = case.tensor(x, first, layout), case.tensor(y, second, layout)
    function = popops.scaledSubtractFrom if subtract else popops.scaledAddTo
    two, three = case.tensor(np.array(2.0), first), case.tensor(np.array(3.0), first)
    sign = -1 if subtract else 1
    if form == "number":
        function(case.graph, a, b, 3.0, case.program)
        expected = x + sign * 3 * y
    elif form == "tensor":
        function(case.graph, a, b, three, case.program, "name", {})
        expected = x + sign * 3 * y
    elif form == "two numbers":
        function(case.graph, a, 2.0, b, 3.0, case.program)
        expected = 2 * x + sign * 3 * y
    elif form == "two tensors":
        function(case.graph, a, two, b, three, case.program)
        expected = 2 * x + sign * 3 * y
    else:
        special = popops.ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY
        function(case.graph, a, two, b, three, case.program, special, "name")
        expected = x - 2 * x + 3 * y
    case.run()
    np.testing.assert_array_equal(case[a], expected)
    assert len(case.works) == 1


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
    axis=st.integers(0, 2),
    index_shape=st.lists(st.integers(1, 3), max_size=2),
    layout=st.sampled_from(LAYOUTS),
    seed=st.integers(0, 9),
)
def test_gather_along_an_axis(
    shape: tuple[int, ...], axis: int, index_shape: list[int], layout: str, seed: int
) -> None:
    x = arrays(shape, seed)
    indices = np.random.default_rng(seed).integers(0, shape[axis], index_shape).astype(np.uint32)
    case = Case()
    view, where = case.tensor(x, layout=layout), case.tensor(indices)
    made = popops.gather(case.graph, view, where, axis, case.program, popops.GatherParams(), "name", {})
    case.run()
    np.testing.assert_array_equal(case[made], np.take(x, indices, axis))


def test_gather_of_windows_as_in_xla() -> None:
    case = Case()
    table = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    view, where = case.tensor(table), case.tensor(np.int32([[1, 1], [2, 1]]))
    points = popops.gather(case.graph, view, where, 1, [], [1, 1], [0, 1], [0, 1], case.program)
    rows = popops.gather(
        case.graph, view, case.tensor(np.int32([0, 2])), 1, [1], [1, 3], [0], [0], case.program
    )
    moved = popops.gather(
        case.graph, view, case.tensor(np.int32([[5, 2]])), 1, [1, 2], [2, 2], [], [0, 1], case.program
    )
    case.run()
    np.testing.assert_array_equal(case[points], [5, 8])
    np.testing.assert_array_equal(case[rows], table[[0, 2]])
    np.testing.assert_array_equal(case[moved], [table[1:, 1:]])


def test_scatter_writes_windows_or_combines_them() -> None:
    case = Case()
    x, new = arrays((4, 3), 0), arrays((2, 3), 1)
    plain, added = case.tensor(x, layout="transposed"), case.tensor(x)
    where, updates = case.tensor(np.int32([[2], [9]])), case.tensor(new)
    again = case.tensor(np.int32([[1], [1]]))
    popops.scatter(case.graph, plain, where, updates, 1, [1], [0], [0], case.program)

    def add(graph: Any, old: Any, update: Any, program: Any) -> Any:
        return popops.add(graph, old, update, program)

    popops.scatter(case.graph, added, again, updates, 1, [1], [0], [0], add, case.program)
    case.run()
    expected = x.copy()
    expected[2] = new[0]
    np.testing.assert_array_equal(case[plain], expected)
    expected = x.copy()
    expected[1] += new[0]
    expected[1] += new[1]
    np.testing.assert_allclose(case[added], expected, rtol=1e-6)


@given(
    shape=st.tuples(st.integers(2, 4), st.integers(2, 4)),
    lower=st.tuples(st.integers(-1, 3), st.integers(-1, 3)),
    upper=st.tuples(st.integers(-1, 3), st.integers(-1, 3)),
    method=st.sampled_from([None, *popops.padding.MappingMethod]),
    layout=st.sampled_from(LAYOUTS),
)
def test_padding(
    shape: tuple[int, int], lower: tuple[int, int], upper: tuple[int, int], method: Any, layout: str
) -> None:
    case = Case()
    x = arrays(shape, 0)
    view = case.tensor(x, layout=layout)
    rest = [] if method is None else [method]
    made = popops.pad(case.graph, view, lower, upper, 1.5, *rest)
    cut = x[max(0, -lower[0]) : shape[0] + min(0, upper[0]), max(0, -lower[1]) : shape[1] + min(0, upper[1])]
    widths = [(max(0, b), max(0, a)) for b, a in zip(lower, upper, strict=True)]
    one = popops.pad(case.graph, view, 2, 1, 1, 7)
    edge = popops.pad(view, lower, upper, popops.padding.Type.EDGE) if cut.size else None
    mirror = popops.pad(view, 1, 1, 0, popops.padding.Type.REFLECT)
    if method is popops.padding.MappingMethod.NONE:  # constants are on no tile: no program reads them
        return
    out = [popops.neg(case.graph, each, case.program) for each in (made, one, mirror) if each.elements]
    edges = popops.neg(case.graph, edge, case.program) if edge is not None else None
    case.run()
    expected = [np.pad(cut, widths, constant_values=1.5), np.pad(x, [(0, 0), (2, 1)], constant_values=7),
                np.pad(x, [(1, 1), (0, 0)], mode="reflect")]  # fmt: skip
    for got, wanted in zip(out, [each for each in expected if each.size], strict=True):
        np.testing.assert_array_equal(case[got], -wanted)
    if edges is not None:
        np.testing.assert_array_equal(case[edges], -np.pad(cut, widths, mode="edge"))


def test_encodings_by_indices() -> None:
    case = Case()
    masked = np.uint32(popops.MASKED_LABEL_CODE)
    indices = case.tensor(np.array([1, 0, 7, masked], np.uint32))
    hot, custom = (case.tensor(np.full((4, 3), 9, np.float32), layout="transposed") for _ in range(2))
    numbers, integers = case.tensor(np.zeros(4, np.uint32)), case.tensor(np.zeros(3, np.int32))
    rows = case.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
    popops.encodeOneHot(case.graph, indices, hot, case.program)
    on, off = case.tensor(np.float32(2)), case.tensor(np.float32(-1))
    popops.encodeOneHot(case.graph, indices, custom, case.program, on, off, "name")
    popops.iota(case.graph, numbers, 2**32 - 2, case.program)
    popops.iota(case.graph, integers, -1, case.program)
    chosen = popops.selectScalarFromRows(case.graph, rows, indices, case.program)
    popops.updateScalarInRows(case.graph, rows, indices, case.program)
    case.run()
    expected = np.zeros((4, 3))
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_array_equal(case[hot], expected)
    np.testing.assert_array_equal(case[custom], expected * 3 - 1)
    np.testing.assert_array_equal(case[numbers], np.uint32([2**32 - 2, 2**32 - 1, 0, 1]))
    np.testing.assert_array_equal(case[integers], [-1, 0, 1])
    np.testing.assert_array_equal(case[chosen], [1, 3, np.nan, 0])
    wanted = np.arange(12, dtype=np.float32).reshape(4, 3)
    wanted[0, 1] -= 1
    wanted[1, 0] -= 1
    wanted[2] = np.nan
    np.testing.assert_array_equal(case[rows], wanted)
    assert len(case.works) == 8


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 6)),
    dim=st.integers(0, 1),
    layout=st.sampled_from(LAYOUTS),
    seed=st.integers(0, 9),
)
def test_sorting(shape: tuple[int, int], dim: int, layout: str, seed: int) -> None:
    keys = np.rint(arrays(shape, seed))
    values = np.arange(keys.size, dtype=np.int32).reshape(shape)
    case = Case()
    k, v, plain = case.tensor(keys, layout=layout), case.tensor(values, layout=layout), case.tensor(keys)
    made = popops.sort(case.graph, k, dim, case.program)
    by_key = popops.sortKeyValue(case.graph, k, v, dim, case.program)
    popops.sortInPlace(case.graph, plain, dim, case.program)
    popops.sortKeyValueInPlace(case.graph, k, v, dim, case.program)
    case.run()
    order = np.argsort(keys, dim, kind="stable")
    for each in (made, plain, k):
        np.testing.assert_array_equal(case[each], np.sort(keys, dim))
    for each in (by_key, v):
        np.testing.assert_array_equal(case[each], np.take_along_axis(values, order, dim))


@given(
    rows=st.integers(1, 3),
    columns=st.integers(1, 7),
    k=st.integers(1, 7),
    largest=st.booleans(),
    order=st.sampled_from(list(popops.SortOrder)),
    unsigned=st.booleans(),
    seed=st.integers(0, 9),
)
def test_top_k(rows: int, columns: int, k: int, largest: bool, order: Any, unsigned: bool, seed: int) -> None:
    k = min(k, columns)
    keys = np.rint(arrays((rows, columns), seed, low=0))
    if unsigned:
        keys = keys.astype(np.uint32)
    case = Case()
    view, values = case.tensor(keys), case.tensor(np.arange(keys.size, dtype=np.int32).reshape(keys.shape))
    params = popops.TopKParams(k, largest, order)
    found, places = popops.topKWithPermutation(case.graph, case.program, view, params)
    alone = popops.topK(case.graph, case.program, view, params)
    both = popops.topKKeyValue(case.graph, case.program, view, values, params)
    case.run()
    got, where = case[found], case[places]
    assert places.type is UNSIGNED_INT
    np.testing.assert_array_equal(np.take_along_axis(keys, where.astype(np.int64), -1), got)
    np.testing.assert_array_equal(np.sort(got), np.sort(keys)[:, -k:] if largest else np.sort(keys)[:, :k])
    steps = np.diff(got.astype(float))
    if order is popops.SortOrder.ASCENDING:
        assert (steps >= 0).all()
    if order is popops.SortOrder.DESCENDING:
        assert (steps <= 0).all()
    if order is not popops.SortOrder.NONE:  # equal keys keep the order of their places
        assert (np.diff(where.astype(int))[steps == 0] > 0).all()
    np.testing.assert_array_equal(case[alone], got)
    np.testing.assert_array_equal(case[both[1]], where + np.arange(rows)[:, None] * columns)


def test_tests_of_whole_tensors() -> None:
    case = Case()
    good, bad, inf = (case.tensor(np.float32(each)) for each in ([1, 2], [1, np.nan], [1, np.inf]))
    truths, mixed = case.tensor(np.array([True, True])), case.tensor(np.array([True, False]))
    made = [
        popops.hasNaN(case.graph, good, case.program),
        popops.hasNaN(case.graph, bad, case.program),
        popops.hasNaN(case.graph, inf, case.program),
        popops.hasNaNOrInf(case.graph, inf, case.program),
        popops.allTrue(case.graph, truths, case.program),
        popops.allTrue(case.graph, mixed, case.program),
        popops.checkAccuracyWhenCast(case.graph, case.tensor(np.float32(1.5)), HALF, 1e-6, case.program),
        popops.checkAccuracyWhenCast(case.graph, case.tensor(np.float32(1.0001)), HALF, 1e-6, case.program),
        popops.checkAccuracyWhenCast(case.graph, case.tensor(np.float32(1e6)), HALF, 1e-2, case.program),
    ]
    case.run()
    assert [bool(case[each]) for each in made] == [False, True, False, True, True, False, True, False, False]


def test_stretches_of_rows() -> None:
    case = Case()
    x = arrays((6, 2), 0)
    counts, read, write = (case.tensor(np.uint32(each)) for each in ([2, 1, 0], [4, 0, 3], [0, 3, 0]))
    zeroed, kept = case.tensor(np.ones((5, 2), np.float32)), case.tensor(np.ones((5, 2), np.float32))
    for out, zero in ((zeroed, True), (kept, False)):
        popops.sequenceSlice(case.graph, case.tensor(x), out, counts, read, write, zero, case.program)
    case.run()
    for out, fill in ((zeroed, 0.0), (kept, 1.0)):
        expected = np.full((5, 2), fill, np.float32)
        expected[0:2], expected[3] = x[4:6], x[0]
        np.testing.assert_array_equal(case[out], expected)


def test_histograms() -> None:
    case = Case()
    x = arrays((100,), 0)
    view, levels = case.tensor(x), case.tensor(np.float32([-1, 0, 2]))
    made = popops.histogram(case.graph, view, levels, False, case.program)
    out = case.tensor(np.uint32([1, 1, 1, 1]))
    popops.histogram(case.graph, view, out, True, levels, True, case.program)
    floats = popops.histogram(
        case.graph, view, levels, False, case.program, "", {"useFloatArithmetic": "true"}
    )
    case.run()
    places = [(x < -1).sum(), ((x >= -1) & (x < 0)).sum(), ((x >= 0) & (x < 2)).sum(), (x >= 2).sum()]
    np.testing.assert_array_equal(case[made], places)
    np.testing.assert_array_equal(case[floats], places)
    np.testing.assert_array_equal(case[out], [1, 1, 1 + (np.abs(x) < 2).sum(), 1 + (np.abs(x) >= 2).sum()])


def test_images_get_a_fourth_channel() -> None:
    case = Case()
    view = popops.createNormaliseImageInput(case.graph, UNSIGNED_CHAR, [2, 4, 3])
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    case.graph.set_initial_value(view, pixels)
    offsets, scales = case.tensor([0.5, 1, 2], HALF), case.tensor([1, 2, 4], HALF)
    made = popops.normaliseImage(case.graph, case.program, view, 0.25, offsets, scales)
    case.run()
    assert made.type is HALF
    np.testing.assert_allclose(case[made][..., :3], (pixels * 0.25 - [0.5, 1, 2]) * [1, 2, 4])
    assert not case[made][..., 3].any()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_sum_to_one_and_weight_features(degree: int) -> None:
    case = Case()
    edges, dims, splines = 5, 2, (degree + 1) ** 2
    coordinates = case.tensor(arrays((edges, dims), 0, low=0, high=0.99))
    sizes, is_open = case.tensor(np.int32([5, 6])), case.tensor(np.uint8([1, 0]))
    basis = case.tensor(np.zeros((edges, splines), np.float32))
    index = case.tensor(np.zeros((edges, splines), np.int32))
    popops.splineBasis(case.graph, coordinates, sizes, is_open, basis, index, degree, case.program)
    features, weights = arrays((edges, 3), 1), arrays((30, 3, 4), 2)
    made = popops.splineWeighting(
        case.graph, case.tensor(features), case.tensor(weights), basis, index, case.program
    )
    case.run()
    np.testing.assert_allclose(case[basis].sum(1), 1, rtol=1e-6)
    assert case[index].min() >= 0
    assert case[index].max() < 30
    expected = np.einsum("es,ei,esio->eo", case[basis], features, weights[case[index]])
    np.testing.assert_allclose(case[made], expected, rtol=1e-5, atol=1e-5)


def test_loops_count() -> None:
    case = Case()
    seen, total = case.tensor(np.zeros(8, np.uint32)), case.tensor(np.uint32([0]))

    def body(counter: Any) -> Any:
        turn = Sequence_()
        popops.dynamicUpdate(case.graph, seen, counter, counter, [0], [1], turn)
        return turn

    case.program.add(popops.countedLoop(case.graph, 1, 8, 3, body))
    inner = Sequence_()
    popops.addInPlace(case.graph, total, 1, inner)
    case.program.add(popops.countedLoop(case.graph, 4, lambda counter: inner))
    limit, count = case.tensor(np.int32(6)), case.tensor(np.int32(0))
    case.program.add(popops.countedForLoop(case.graph, count, 2, limit, 2, inner))
    case.program.add(popops.countedForLoop(case.graph, 0, limit, 3, inner, "name"))
    goes_on = popops.addForLoopCounterVertex(case.graph, count, limit, 1, 0, case.program, "")
    case.run()
    np.testing.assert_array_equal(case[seen], [0, 1, 0, 0, 4, 0, 0, 7])
    assert case[total] == 4 + 2 + 2
    assert case[count] == 7
    assert case[goes_on]


def test_a_circular_buffer_keeps_the_last_tensors() -> None:
    case = Case()
    buffer = popops.CircBuf(case.graph, FLOAT, 3, [2, 3])
    x = case.tensor(arrays((2, 3), 0))
    for _ in range(5):
        buffer.add(x, case.program)
        popops.addInPlace(case.graph, x, 1, case.program)
    made = [buffer.prev(age, case.program) for age in range(3)]
    case.run()
    for age, each in enumerate(made):
        np.testing.assert_allclose(case[each], arrays((2, 3), 0) + 4 - age, rtol=1e-6)
    assert buffer.size() == 3
    with pytest.raises(PoplibsError, match="3 tensors"):
        buffer.prev(3, case.program)


def test_transpositions_in_a_compute_set() -> None:
    case = Case()
    x = arrays((2, 4, 6), 0)
    compute_set = case.graph.add_compute_set()
    made = popops.rearrange.partialTranspose(case.graph, case.tensor(x), compute_set)
    case.execute([compute_set])
    case.run()
    np.testing.assert_array_equal(case[made], x.swapaxes(1, 2))
    vertices = next(iter(compute_set.batches.values()))
    tiles = mapping.tiles_of(case.graph.memory, made)
    assert sorted(vertices.tiles) == sorted(set(tiles.tolist()))
