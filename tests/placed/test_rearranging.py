"""Edges that have to be gathered or scattered, and those that need not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.placed.programs import runs, small_hardware, variables, vertices

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import PhaseKind
from tremula.program.placed import ComputeSet, FieldRuns, PlacedProgram, Variables
from tremula.program.placed_steps import Execute, Steps

Run = tuple[int, int, int]


def edges(*given: list[Run], writes: bool = False) -> FieldRuns:
    """A field of one vertex for each edge, made of runs."""
    flat = [run for edge in given for run in edge]
    edge = np.repeat(np.arange(len(given)), [len(each) for each in given])
    return FieldRuns("f", not writes, writes, runs(*flat), edge, edge=edge)


def copied(names: Variables, tiles: list[int], *fields: FieldRuns) -> list[tuple[str, float]]:
    """The copies of a program with one compute set for each field: name and cycles of all vertices."""
    sets = []
    for number, each in enumerate(fields):
        count = len(np.unique(each.vertex))
        sets.append(ComputeSet(f"cs{number}", [vertices(tiles[:count], [1.0] * count, fields=(each,))]))
    steps = Steps(0, tuple(Execute(1 + number, number) for number in range(len(sets))))
    estimate = PlacedEstimate(PlacedProgram("p", 1, 16, names, sets, programs=[steps]), small_hardware())
    return [
        (phase.name, float(phase.busy.sum()))
        for leaf in estimate.leaves.values()
        for phase in leaf.phases
        if phase.kind is PhaseKind.COMPUTE and "Copy" in phase.name
    ]


def rows(start: int, count: int, length: int, pitch: int) -> list[Run]:
    """Rows of a matrix."""
    return [(start + pitch * number, length, 1) for number in range(count)]


def test_a_block_that_is_the_part_of_the_tile_is_used_in_place() -> None:
    # a matrix of 4 x 8 with two blocks of four columns on two tiles
    names = variables([tile for _ in range(4) for tile in (0, 0, 0, 0, 1, 1, 1, 1)])
    assert copied(names, [0, 1], edges(rows(0, 4, 4, 8), rows(4, 4, 4, 8))) == []


def test_a_block_within_a_margin_is_copied_if_others_use_the_margin() -> None:
    names = variables([0] * 36)
    inner, lines = rows(7, 4, 4, 6), [[row] for row in rows(0, 6, 6, 6)]
    assert copied(names, [0] * 6, edges(inner)) == []
    assert [name for name, _ in copied(names, [0] * 6, edges(inner), edges(*lines))] == ["cs0/PreCopy"]
    assert [name for name, _ in copied(names, [0] * 6, edges(inner, writes=True), edges(*lines))] == [
        "cs0/PostCopy"
    ]


def test_published_cycles_of_copies_row_by_row() -> None:
    # thorbenlouw/lbm-graphcore: DstLongStridedCopy takes 11,521,600 cycles on 1,216 tiles for a block of 100 x 100
    names = variables([0] * 102 * 102)
    lines = [[row] for row in rows(0, 102, 102, 102)]
    ((_, cycles),) = copied(names, [0] * 102, edges(rows(103, 100, 100, 102), writes=True), edges(*lines))
    assert cycles == pytest.approx(11_521_600 / 1_216, rel=0.03)


def test_an_element_among_those_of_other_tiles_costs_nothing() -> None:
    names = variables([0, 1, 2, 3, 4, 5])
    same = [(0, 6, 1)]
    assert copied(names, [2, 2, 2], edges(same, same, same)) == []


def test_two_edges_that_want_other_neighbours_are_gathered() -> None:
    names = variables([0, 1, 2, 3, 4, 5])
    forward, backward = [(0, 6, 1)], [(5, 6, -1)]
    ((name, _),) = copied(names, [2, 2], edges(forward, backward))
    assert name == "cs0/PreCopy"


def test_a_column_is_gathered_if_rows_are_used_as_well() -> None:
    names = variables([0] * 36)
    column, lines = [(0, 6, 6)], [[row] for row in rows(0, 6, 6, 6)]
    assert copied(names, [0] * 6, edges(column)) == []
    assert len(copied(names, [0] * 6, edges(column), edges(*lines))) == 1
