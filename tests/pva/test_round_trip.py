"""Sums over what `pva` hands out are the figures of the profile: a pipeline on two IPUs with four replicas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pva
from tremula.profile import Profile


@pytest.fixture(scope="module")
def profile(profile_file: Path) -> Iterator[Profile]:
    with Profile(profile_file) as found:
        yield found


@pytest.fixture(scope="module")
def report(profile_file: Path) -> Iterator[Any]:
    with pva.openReport(profile_file) as found:
        yield found


def test_memory(profile: Profile, report: Any) -> None:
    for ipu in report.compilation.ipus:
        row = profile.ipus[ipu.id % len(profile.ipus)]
        assert sum(tile.memory.total.includingGaps for tile in ipu.tiles) == row.total_bytes
        assert max(tile.memory.total.includingGaps for tile in ipu.tiles) == row.max_tile_bytes
        assert ipu.memory.alwaysLiveBytes == row.always_live_bytes
        assert ipu.memory.notAlwaysLiveBytes == row.not_always_live_bytes
        assert sum(each.total for each in ipu.memory.category) == ipu.memory.total.excludingGaps


def test_columns_of_tiles_are_their_attributes(report: Any) -> None:
    columns = report.compilation.tiles.to_numpy()
    for number in (0, 700, 1472, 5000, report.compilation.target.numTiles - 1):
        memory = report.compilation.tiles[number].memory
        assert columns["totalIncludingGaps"][number] == memory.total.includingGaps
        assert columns["alwaysLiveBytes"][number] == memory.alwaysLiveBytes
        assert columns["controlCode"][number] == memory.category.controlCode.total


def test_variables_sum_to_what_is_always_live(profile: Profile, report: Any) -> None:
    by_ipu: dict[int, int] = defaultdict(int)
    for each in report.compilation.alwaysLiveVariables:
        by_ipu[each.ipu] += each.size
    assert dict(by_ipu) == {row.ipu: row.always_live_bytes for row in profile.ipus}


@settings(max_examples=15)
@given(tile=st.integers(0, 2 * 1472 - 1))
def test_a_tile_at_its_fullest_moment(profile: Profile, report: Any, tile: int) -> None:
    memory = report.compilation.tiles[tile].memory
    lasting = report.compilation.alwaysLiveVariablesForTile(tile)
    assert sum(each.size for each in lasting) == memory.alwaysLiveBytes
    peak = profile.ipus[tile // 1472].peak_step
    index = int(report.compilation.index.bounds[peak])
    alive = report.compilation.livenessProgramSteps[index].notAlwaysLiveMemoryForTile(tile)
    assert alive.bytes == sum(each.size for each in alive.variables) == memory.notAlwaysLiveBytes


def test_steps_of_liveness_are_those_of_the_profile(profile: Profile, report: Any) -> None:
    steps = report.compilation.livenessProgramSteps
    sums = np.sum([np.add(*profile.live_bytes(ipu)) for ipu in range(2)], axis=0)
    found = steps.to_numpy("notAlwaysLiveBytes")["notAlwaysLiveBytes"]
    first = np.unique(report.compilation.index.file_step, return_index=True)[1]
    assert found[first].tolist() == sums.tolist()
    assert max(step.notAlwaysLiveMemory.bytes for step in steps) == sums.max()
    for step in steps[::17]:
        live = step.notAlwaysLiveMemory
        assert sum(each.size for each in live.variables) == live.bytes
        assert sum(step.notAlwaysLiveMemoryForIpu(ipu).bytes for ipu in range(2)) == live.bytes


def test_leaves_of_an_op_take_its_cycles(profile: Profile, report: Any) -> None:
    for operation in pva.OperationAnalysis(report).operations:
        node = operation.programs()[0]
        estimated = sum(
            max(leaf.estimatedCyclesByTile) * leaf.repeats
            for leaf in node.children
            if leaf.type.name != "OnTileExecute"
        ) + sum(
            max(leaf.computeset.estimatedCyclesByTile) * leaf.repeats
            for leaf in node.children
            if leaf.type.name == "OnTileExecute"
        )
        assert estimated == pytest.approx(node.cycles)


def test_an_op_that_runs_again_has_both_runs_in_the_steps(profile: Profile, report: Any) -> None:
    ops, again = profile.program_steps
    repeated = int(ops[np.flatnonzero(again)[0]])
    operation = pva.OperationAnalysis(report).operations[repeated]
    steps = report.compilation.livenessProgramSteps
    first, last = steps[operation.firstStepIndex].program, steps[operation.lastStepIndex].program
    nodes = [program for program in operation.programs() if len(program.children)]
    assert len(nodes) == 2
    assert first in nodes[0].children
    assert last in nodes[1].children


def test_runs(profile: Profile, report: Any) -> None:
    main = [row for row in profile.runs if row.kind != "upload"]
    assert len(report.execution.uploads) == len(profile.runs) - len(main)
    for run, row in zip(report.execution.runs, main, strict=True):
        cycles = [0] * report.compilation.target.numIPUs
        for step in run.steps:
            for ipu, each in enumerate(step.ipus):
                cycles[ipu] += each.cycles
        assert set(cycles) == {row.cycles}
        assert run.cycles == row.cycles
    total = report.execution.totalCycles
    assert total.total == sum(row.cycles for row in main)
    assert total.compute + total.exchange + total.stream + total.sync == total.total
    assert len(report.execution.steps) == sum(len(run.steps) for run in report.execution.runs)
    ours = np.isin(profile.frame("steps").column("run"), [row.id for row in main])
    sent = profile.frame("steps").column("bytes_out")[ours].sum()
    assert report.execution.steps.to_numpy("dataOut")["dataOut"].sum() == sent


def test_code(report: Any) -> None:
    """Exchange code of programs is that of the tiles; control code of the root is that of the tiles."""
    compilation = report.compilation
    exchange = sum(
        sum(program.codeBytesByTile) for program in compilation.programs if program.type.name == "DoExchange"
    )
    wanted = sum(ipu.memory.category.internalExchangeCode.total for ipu in compilation.ipus)
    assert exchange == pytest.approx(wanted, rel=1e-3)
    control = sum(compilation.programs[0].controlCodeByTile)
    wanted = sum(ipu.memory.category.controlCode.total for ipu in compilation.ipus)
    assert control == pytest.approx(wanted, rel=1e-3)


def test_parts_on_tiles_sum_to_their_variables(report: Any) -> None:
    sizes: dict[Any, int] = defaultdict(int)
    for part in report.compilation.loweredVariables.allBriefVars:
        sizes[part.unloweredVar] += part.bytes
    assert sizes
    assert all(size == variable.size for variable, size in sizes.items())
