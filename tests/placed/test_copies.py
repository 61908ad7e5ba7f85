"""Copies: what they move, the vertices that put it in place, and which of them run together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import copying, runs, small_hardware, variables

from tremula.placed.copies import copy_work, matched
from tremula.placed.copy_vertices import copy_vertices
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
        return copy_work(matched(pairs, NAMES), small_hardware()).exchange.received_bytes

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
    names = variables([0] * 110 * 102)
    pieces = split(runs((0, count, 102)), names)
    (found,) = copy_vertices(pieces, pieces.tile, 6, 8)
    assert found.cycles.sum() == cycles


def test_rows_are_copied_eight_bytes_a_cycle() -> None:
    names = variables([0] * 5_000)
    one = split(runs((0, 100, 1)), names)
    (found,) = copy_vertices(one, one.tile, 6, 8)
    assert found.cycles.tolist() == [70.0]
    large = split(runs((0, 5_000, 1)), names)
    (found,) = copy_vertices(large, large.tile, 6, 8)
    assert len(found.tile) == 6


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


def test_scattered_copies_have_an_exchange_of_their_own() -> None:
    row, column = ((0, 10, 1), (100, 10, 1)), ((20, 5, 1), (120, 5, 10))
    assert groups(row, column) == [[0], [1]]
    # another row goes to the first exchange: it does not touch what the column copy does
    assert groups(row, column, ((40, 10, 1), (111, 9, 1))) == [[0, 2], [1]]
    # within one variable it does not
    assert groups(((0, 10, 1), (10, 10, 1)), ((20, 5, 1), (30, 5, 10)), ((80, 5, 1), (90, 5, 1))) == [
        [0],
        [1],
        [2],
    ]


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
    assert phase.cycles == 6 * (20 + 5)
