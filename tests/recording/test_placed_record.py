"""Profiles of placed programs: they hold what the estimate says, add up, and are read by all readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import reading, runs, small_hardware, variables, vertices

import pva
from tremula.errors import Error
from tremula.placed.estimate import PlacedEstimate
from tremula.profile import Profile
from tremula.program.placed import ComputeSet, Copy, PlacedProgram
from tremula.program.placed_steps import (
    Branch,
    Call,
    Execute,
    Free,
    Repeat,
    RunCopy,
    Step,
    Steps,
    While,
    children,
    executions,
    walk,
)
from tremula.recording.placed_record import BlockFilter, PlacedRun, write_placed_profile
from tremula.recording.placed_runs import laid_out
from tremula.view.page_data import page_data
from tremula.view.summary import summary


def looping(turns: int = 5) -> PlacedProgram:
    """Two compute sets in a loop, with a copy and a block, on 16 tiles."""
    names = variables([0] * 20, [5] * 20, [9] * 20)
    sets = [
        ComputeSet("first", [vertices([0, 5], [10.0, 30.0])]),
        ComputeSet("second", [vertices([9], [7.0])]),
    ]
    copies = [Copy("move", runs((0, 20, 1)), runs((20, 20, 1)))]
    body = Steps(2, (Execute(3, 0), RunCopy(4, 0), Steps(5, (Execute(6, 1),), "stage")))
    return PlacedProgram("p", 1, 16, names, sets, copies, programs=[Steps(0, (Repeat(1, turns, body),))])


def recorded(program: PlacedProgram, folder: Path, **more: object) -> tuple[PlacedEstimate, Path]:
    """The profile of one run."""
    estimate = PlacedEstimate(program, small_hardware())
    run = PlacedRun(0, "", estimate.executions(0))
    path = write_placed_profile(estimate, folder / "profile.pop", [run], **more)  # type: ignore[arg-type]
    return estimate, path


def test_a_profile_has_the_cycles_and_bytes_of_the_estimate(tmp_path: Path) -> None:
    estimate, path = recorded(looping(), tmp_path)
    total = estimate.totals(estimate.executions(0))
    report = pva.openReport(path)
    assert report.execution.totalCycles.total == round(total.total)
    steps = report.execution.runs[0].steps
    assert sum(step.ipus[0].cycles for step in steps) == round(total.total)
    memory = estimate.memory
    assert [tile.memory.total.includingGaps for tile in report.compilation.tiles] == memory.total.tolist()
    first = report.compilation.computeSets[0]
    assert first.name == "first"
    assert list(first.estimatedCyclesByTile)[:7] == [60.0, 0, 0, 0, 0, 180.0, 0]
    assert (report.compilation.graph.numVertices, report.compilation.graph.numVars) == (3, 3)
    assert report.compilation.graph.numEdges == 0


def test_every_reader_shows_it(tmp_path: Path) -> None:
    _, path = recorded(looping(), tmp_path)
    with Profile(path) as profile:
        assert "Memory Usage" in str(summary(profile, full=True))
        assert page_data([profile])["answers"]
        for ipu, _ in enumerate(profile.ipus):
            rows, sizes = profile.variables_on_tile(ipu, 0)
            assert int(sizes.sum()) == sum(int(each[0]) for each in profile.tile_bytes(ipu).values())
            assert len(rows)


def test_blocks_that_were_asked_for(tmp_path: Path) -> None:
    estimate, path = recorded(looping(3), tmp_path, blocks=BlockFilter("sta.*", "first"))
    report = pva.openReport(path)
    blocks = list(report.execution.blocks(0))
    assert [block.program.name for block in blocks] == ["first", "stage"] * 3
    stage = estimate.leaves[6].cycles
    assert {block.cyclesTo - block.cyclesFrom for block in blocks if block.program.name == "stage"} == {
        round(stage)
    }
    assert all(block.isCommon and not block.isStreamCopy for block in blocks)
    assert len(report.execution.blocks(1)) == 0
    with pytest.raises(Error, match="regular expression"):
        BlockFilter("(")


def test_turns_beyond_the_bound_are_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.recording.placed_runs.MOST_LEAVES", 10)
    monkeypatch.setattr("tremula.recording.placed_record.laid_out", lambda *a: laid_out(*a, 10))
    estimate, path = recorded(looping(1_000), tmp_path)
    report = pva.openReport(path)
    total = round(estimate.totals(estimate.executions(0)).total)
    assert len(report.execution.runs[0].steps) < 100
    assert sum(step.ipus[0].cycles for step in report.execution.runs[0].steps) == total
    assert "added up" in report.execution.runs[0].note


@st.composite
def trees(draw: st.DrawFn) -> Step:
    """Control trees of all kinds of nodes."""
    numbers = iter(range(1_000))

    def tree(depth: int) -> Step:
        kind = draw(
            st.sampled_from(["leaf", "steps", "repeat", "while", "branch", "call"] if depth < 4 else ["leaf"])
        )
        node = next(numbers)
        match kind:
            case "steps":
                return Steps(node, tuple(tree(depth + 1) for _ in range(draw(st.integers(0, 3)))))
            case "repeat":
                return Repeat(node, draw(st.integers(0, 4)), tree(depth + 1))
            case "while":
                return While(node, tree(depth + 1), tree(depth + 1))
            case "branch":
                return Branch(node, (tree(depth + 1), tree(depth + 1)))
            case "call":
                return Call(node, "f")
        return Free(node, "leaf")

    return tree(0)


@given(trees())
def test_leaves_are_laid_out_as_often_as_they_ran(root: Step) -> None:
    functions: dict[str, Step] = {"f": Steps(5_000, (Free(5_001, "leaf"),))}
    counts = executions(root, functions)
    laid = laid_out(root, functions, counts)
    empty = {each.id for each in walk(root) if isinstance(each, Steps) and not each.steps}
    leaves = {each.id for each in walk(root) if not children(each) and not isinstance(each, Call)} | {5_001}
    for node in leaves - empty:
        assert laid.nodes.count(node) == counts.get(node, 0)


def test_a_program_that_reads_from_other_tiles_has_edges(tmp_path: Path) -> None:
    names = variables([0] * 10)
    _, path = recorded(reading(names, [2, 3], [(0, 5, 1), (5, 5, 1)]), tmp_path)
    report = pva.openReport(path)
    assert report.compilation.graph.numEdges == 2
    assert report.compilation.tiles[2].memory.category.vertexFieldData.total == 8
    assert report.compilation.tiles[2].memory.category.message.total == 20
    assert np.sum(report.compilation.computeSets[0].estimatedCyclesByTile) == 1_200
