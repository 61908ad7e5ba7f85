"""Copies: what they move, the vertices that put it in place, and which of them run together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import copying, runs, small_hardware, variables

from tremula.placed.copies import copy_set, copy_work, matched
from tremula.placed.copy_vertices import SCATTER, CopyVertices, copy_vertices
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
    # the same profiles, for rows of 100 and 101 words: Memcpy64Bit, and ShortMemcpy in three vertices
    [(0, 100, [67]), (0, 101, [83]), (1, 96, [73 + 16] * 3)],
)
def test_rows_take_longer_where_they_are_not_aligned(start: int, count: int, cycles: list[int]) -> None:
    (found,) = vertices_of((start, count, 1))
    assert found.cycles.tolist() == cycles


def test_published_cycles_of_rows_that_are_not_aligned() -> None:
    # explicitOneTensor2Wave: 23,056 vertices and 1,914,536 cycles, of which the program that fills the blocks has seven
    # vertices and 500 cycles on each of 1,216 tiles; two rows in two variables on all tiles but four
    (rows,) = vertices_of((1, 101, 1), (303, 101, 1))
    assert len(rows.tile) * 2 * 1_212 == 23_056 - 7 * 1_216
    assert rows.cycles.sum() * 2 * 1_212 == 1_914_536 - 500 * 1_216


def test_neighbouring_vertices_of_a_row_that_is_not_aligned_do_not_run_at_the_same_time() -> None:
    made = copy_set("rows", vertices_of((1, 101, 1), (303, 101, 1)), small_hardware())
    # 979.6 cycles of the busiest worker are published for two rows and a column of 102 words, which takes 801
    assert made.cycles.tolist() == [6 * (90 + 90)]
    assert made.busy.tolist() == [539]
    aligned = copy_set("rows", vertices_of((0, 5_000, 1)), small_hardware())
    assert aligned.cycles.sum() < 1.05 * aligned.busy.sum()


def test_large_rows_are_divided_among_the_workers() -> None:
    (large,) = vertices_of((0, 5_000, 1))
    assert len(large.tile) == 6


def test_columns_and_rows_that_are_not_aligned_have_even_shares_of_the_workers() -> None:
    rows, column = vertices_of((1, 101, 1), (303, 101, 1), (600, 100, 102))
    assert rows.cycles.tolist() == [73 + 25.5, 73 + 25] * 2
    assert column.cycles.tolist() == [36 + 45 * 51, 36 + 45 * 49]
    # aligned rows are copied so fast that the column has all workers
    rows, column = vertices_of((0, 100, 1), (304, 100, 1), (600, 100, 102))
    assert rows.cycles.tolist() == [67, 67]
    assert column.cycles.tolist() == [36 + 45 * 17] * 5 + [36 + 45 * 15]


@given(st.integers(1, 4), st.integers(2, 3_000))
def test_no_vertex_for_a_column_has_more_than_a_share_and_each_word_is_copied_once(
    rows: int, words: int
) -> None:
    names = variables([0] * 10_000)
    pieces = split(runs(*((1 + 200 * row, 100, 1) for row in range(rows)), (1_000, words, 3)), names)
    found = copy_vertices(pieces, pieces.tile, pieces.start * 4, 6, 8)
    (scatters,) = [each for each in found if each.type == SCATTER]
    share = max(-(-(100 * rows + words) // 6), 4)
    assert scatters.cycles.sum() == 36 * len(scatters.tile) + 45 * words
    assert scatters.cycles.max() <= 36 + 45 * share
    assert len(scatters.tile) <= 6


def arriving(*places: tuple[int, int, int]) -> dict[str, list[float]]:
    """Cycles of the vertices that put what comes from another tile to these places, by type."""
    names = variables([0] * 110 * 102, [1] * 1_000)
    copies, sent = [], names.first[1]
    for start, count, stride in places:
        copies.append(Copy("c", runs((int(sent), count, 1)), runs((start, count, stride))))
        sent += count
    # one that is read and written, so that rows do not arrive in place
    copies.append(Copy("c", runs((110 * 102 - 1, 1, 1)), runs((int(names.first[1]) + 999, 1, 1))))
    work = copy_work(matched(copies, names), names, small_hardware())
    return {each.type: each.cycles.tolist() for each in work.vertices}


def test_a_row_and_the_corner_before_it_are_one_stretch() -> None:
    # thorbenlouw/lbm-graphcore, explicitOneTensor: blocks of 102 x 102 on the left get rows from the second word on and
    # a column at the right; those on the right get the corner before the row as well, and a column at the left
    left = arriving(
        (1, 100, 1), (101, 1, 1), (101 * 102 + 1, 100, 1), (101 * 102 + 101, 1, 1), (203, 100, 102)
    )
    right = arriving((0, 1, 1), (1, 100, 1), (101 * 102, 1, 1), (101 * 102 + 1, 100, 1), (102, 100, 102))
    assert left["poplar_rt::DstStridedCopy"] == [36 + 45 * 51, 36 + 45 * 49]
    assert right["poplar_rt::DstStridedCopy"] == [36 + 45 * 17] * 5 + [36 + 45 * 15]
    # 9,726 and 14,592 are published for 1,216 tiles and two variables: 4 for each with rows, 6 without
    both = len(left["poplar_rt::DstStridedCopy"]) + len(right["poplar_rt::DstStridedCopy"])
    assert both * 1_216 == pytest.approx(9_726, abs=2)


def groups(*copies: tuple[tuple[int, int, int], tuple[int, int, int]], size: int = 100) -> list[list[int]]:
    """Which of some copies in a variable of `size` elements (and another one) run together."""
    names = variables([n // 10 for n in range(size)], [n // 10 for n in range(size)])
    program = copying(names, [(runs(a), runs(b)) for a, b in copies])
    (neighbours,) = copies_together(program)
    return [[step.copy for step in group] for group in neighbours]


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
