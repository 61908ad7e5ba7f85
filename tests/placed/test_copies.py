"""Copies: what they move, the vertices that put it in place, and which of them run together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import copying, runs, small_hardware, variables

from tremula.placed.copies import copy_work, matched
from tremula.placed.copy_vertices import CopyVertices, copy_vertices
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.merging import copies_together
from tremula.placed.pieces import split
from tremula.program.placed import Copy

SIZE = 24
NAMES = variables([n // 3 for n in range(SIZE)], [n // 5 for n in range(SIZE)])


@given(st.integers(0, SIZE), st.data())
def test_splitting_a_copy_creates_no_bytes(cut: int, data: st.DataObject) -> None:
    shift = data.draw(st.integers(0, 4))
    count = SIZE - shift

    def moved(*parts: tuple[int, int]) -> int:
        pairs = [
            Copy("c", runs((begin, end - begin, 1)), runs((SIZE + shift + begin, end - begin, 1)))
            for begin, end in parts
            if end > begin
        ]
        return copy_work(matched(pairs, NAMES), NAMES, small_hardware()).exchange.received_bytes

    cut = min(cut, count)
    assert moved((0, cut), (cut, count)) == moved((0, count))


@given(st.permutations(range(SIZE)))
def test_pieces_of_source_and_target_are_the_same_elements(order: list[int]) -> None:
    source = runs(*((element, 1, 1) for element in order))
    found = matched([Copy("c", source, runs((SIZE, SIZE, 1)))], NAMES)
    pairs = [
        (s + i * a, t + i * b)
        for s, a, t, b, n in zip(
            found.source.start.tolist(), found.source.stride.tolist(), found.target.start.tolist(),
            found.target.stride.tolist(), found.target.count.tolist(), strict=True,
        )
        for i in range(n)
    ]  # fmt: skip
    assert pairs == [(element, SIZE + place) for place, element in enumerate(order)]


@pytest.mark.parametrize(
    ("count", "cycles"),
    # thorbenlouw/lbm-graphcore, results.txt: DstStridedCopyDA32 takes 9,432 cycles on each tile for two columns of
    # 100 words, 9,612 for two of 102; DstLongStridedCopy takes 126 for two words
    [(100, 9_432 / 2), (102, 9_612 / 2), (2, 126)],
)
def test_published_cycles_of_vertices_that_scatter(count: int, cycles: float) -> None:
    found = vertices_of((0, count, 102))
    assert sum(each.cycles.sum() for each in found) == cycles


def vertices_of(*places: tuple[int, int, int]) -> tuple[CopyVertices, ...]:
    """The vertices for copies to places of one variable on one tile."""
    names = variables([0] * 110 * 102)
    pieces = split(runs(*places), names)
    return copy_vertices(pieces, pieces.tile, pieces.start * 4, 6, 8)


@pytest.mark.parametrize(
    ("start", "count", "cycles"),
    # the same profiles: 67 cycles for aligned rows of 100 words, about 120 for others, and more than twice as many for
    # rows of 101 words; a few words take 72 at least, which is not modelled
    [(0, 100, 67), (1, 100, 120), (1, 101, 224)],
)
def test_rows_take_longer_where_they_are_not_aligned(start: int, count: int, cycles: int) -> None:
    (found,) = vertices_of((start, count, 1))
    assert found.cycles.tolist() == [cycles]


def test_large_rows_are_divided_and_columns_take_the_workers_that_rows_leave() -> None:
    (large,) = vertices_of((0, 5_000, 1))
    assert len(large.tile) == 6
    rows, column = vertices_of((1, 100, 1), (301, 100, 1), (600, 100, 102))
    assert (len(rows.tile), len(column.tile)) == (2, 4)
    assert column.cycles.tolist() == [36 + 45 * 25] * 4


def groups(*copies: tuple[tuple[int, int, int], tuple[int, int, int]], size: int = 100) -> list[list[int]]:
    """Which of some copies in a variable of `size` elements (and another one) run together."""
    names = variables([n // 10 for n in range(size)], [n // 10 for n in range(size)])
    program = copying(names, [(runs(a), runs(b)) for a, b in copies])
    return [[step.copy for step in group] for group in copies_together(program)]


def test_copies_that_depend_on_each_other_run_one_after_the_other() -> None:
    assert groups(((0, 10, 1), (100, 10, 1)), ((20, 10, 1), (120, 10, 1))) == [[0, 1]]
    # the second reads what the first writes, writes what it writes, writes what it reads
    assert groups(((0, 10, 1), (100, 10, 1)), ((105, 10, 1), (30, 10, 1))) == [[0], [1]]
    assert groups(((0, 10, 1), (100, 10, 1)), ((20, 10, 1), (105, 10, 1))) == [[0], [1]]
    assert groups(((0, 10, 1), (100, 10, 1)), ((120, 10, 1), (5, 10, 1))) == [[0], [1]]


def test_scattered_copies_within_a_variable_have_an_exchange_of_their_own() -> None:
    row, column = ((0, 10, 1), (50, 10, 1)), ((20, 3, 1), (60, 3, 10))
    assert groups(row, column) == [[0], [1]]
    # a row that comes later does not pass the column, which is in the same variable
    assert groups(row, column, ((0, 5, 1), (93, 5, 1))) == [[0], [1], [2]]
    # what goes to one tile goes there together
    assert groups(row, ((20, 3, 1), (60, 3, 2)), ((0, 3, 1), (67, 3, 1))) == [[0], [1, 2]]
    # between variables they are not kept apart
    assert groups(((0, 10, 1), (100, 10, 1)), ((20, 3, 1), (120, 3, 10))) == [[0, 1]]


@given(
    st.lists(
        st.tuples(st.integers(0, 190), st.integers(0, 190), st.integers(1, 10), st.sampled_from([1, 1, 2])),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_running_together_keeps_the_order_of_effects(copies: list[tuple[int, int, int, int]]) -> None:
    def within(begin: int, count: int, stride: int) -> bool:
        return begin // 100 == (begin + (count - 1) * stride) // 100 and begin + (count - 1) * stride < 200

    fitting = [((a, n, 1), (b, n, s)) for a, b, n, s in copies if within(a, n, 1) and within(b, n, s)]
    values, together = np.arange(200), np.arange(200)

    def indices(run: tuple[int, int, int]) -> np.ndarray:
        return run[0] + np.arange(run[1]) * run[2]

    for source, target in fitting:
        values[indices(target)] = values[indices(source)].copy()
    for group in groups(*fitting) if fitting else []:
        before = together.copy()
        for number in group:
            source, target = fitting[number]
            together[indices(target)] = before[indices(source)]
    assert together.tolist() == values.tolist()


def test_a_copy_on_the_tile_moves_nothing_between_tiles() -> None:
    names = variables([0] * 10, [0] * 10)
    estimate = PlacedEstimate(copying(names, [(runs((0, 10, 1)), runs((10, 10, 1)))]), small_hardware())
    (phase,) = estimate.leaves[1].phases
    assert phase.compute_set >= 0
    assert phase.cycles == 6 * (17 + 5)
