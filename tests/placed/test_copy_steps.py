"""Compute sets of copies: which exchanges have one together."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.poplar_graphs import model_target
from benchmarks.poplar_halo import Made, by_direction, tensor_for_each_tile, tile_by_tile, two_waves
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import copying, runs, small_hardware, variables

from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.program.numbering import number
from tremula.placed.copy_steps import copy_steps
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import PhaseKind
from tremula.program.placed import PlacedProgram

ROWS = 10  #: of the matrix
Move = tuple[tuple[int, int, int], tuple[int, int, int]]


def program(*copies: Move) -> PlacedProgram:
    """Copies in a matrix of ten columns, two of which are on each tile."""
    return copying(
        variables([n % 10 // 2 for n in range(10 * ROWS)]), [(runs(a), runs(b)) for a, b in copies]
    )


def steps(*copies: Move) -> list[list[list[int]]]:
    return [[[each.copy for each in some] for some in step] for step in copy_steps(program(*copies))]


def cell(row: int, column: int, count: int = 1, stride: int = 1) -> tuple[int, int, int]:
    return 10 * row + column, count, stride


def test_a_column_and_a_row_beside_it_have_one_compute_set() -> None:
    column = (cell(1, 1, 4, 10), cell(1, 2, 4, 10))
    row = (cell(8, 4, 2), cell(7, 6, 2))
    assert steps(column, row) == [[[0], [1]]]
    estimate = PlacedEstimate(program(column, row), small_hardware())
    kinds = [phase.kind for phase in estimate.leaves[1].phases]
    assert kinds.count(PhaseKind.EXCHANGE) == 2
    assert kinds.count(PhaseKind.COMPUTE) == 1
    assert estimate.leaves[2].done_by == 1


def test_what_lies_between_the_ends_of_a_column_waits_for_it() -> None:
    column = (cell(1, 1, 4, 10), cell(1, 2, 4, 10))
    # reads, and writes, between the ends
    assert steps(column, (cell(3, 4, 2), cell(7, 6, 2))) == [[[0]], [[1]]]
    assert steps(column, (cell(8, 4, 2), cell(3, 6, 2))) == [[[0]], [[1]]]


@pytest.mark.parametrize(
    ("build", "exchanges", "compute_sets"),
    # four rows of two tiles, and two variables; by tiles, a compute set for each row (thorbenlouw/lbm-graphcore: 14,685
    # cycles pass for a row, of which six workers take 13,986 for the left tile's column)
    [(by_direction, 4, 4), (two_waves, 4, 4), (tensor_for_each_tile, 2, 2), (tile_by_tile, 16, 8)],
)
def test_halo_exchanges(build: object, exchanges: int, compute_sets: int) -> None:
    made: Made = build(model_target("ipu1", tiles=8), 10, 1)  # type: ignore[operator]
    model = ChipModel(made[0], number(made[1]))
    found = copy_steps(model.estimate.program)
    assert sum(map(len, found)) == exchanges
    assert len(found) == compute_sets


@given(
    st.lists(
        st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(1, 8), st.sampled_from([1, 2, 10])),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_waiting_keeps_the_order_of_effects(copies: list[tuple[int, int, int, int]]) -> None:
    size = 10 * ROWS
    fitting = [((a, n, s), (b, n, s)) for a, b, n, s in copies if max(a, b) + (n - 1) * s < size]
    moves = [
        (source, target)
        for source, target in fitting
        if not set(range(source[0], size, source[2])[: source[1]])
        & set(range(target[0], size, target[2])[: target[1]])
    ]
    if not moves:
        return

    def places(run: tuple[int, int, int]) -> np.ndarray:
        return run[0] + np.arange(run[1]) * run[2]

    values, waiting = np.arange(size), np.arange(size)
    for source, target in moves:
        values[places(target)] = values[places(source)].copy()
    for step in steps(*moves):
        buffers = [
            (places(moves[each][1]), waiting[places(moves[each][0])].copy()) for some in step for each in some
        ]
        for target, buffer in buffers:
            waiting[target] = buffer
    assert waiting.tolist() == values.tolist()
