"""Runs and steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import pva


def test_steps_are_in_the_order_of_their_start(small: Any) -> None:
    (run,) = small.execution.runs
    starts = [step.ipus[0].activeCycles.cyclesFrom.max for step in run.steps]
    assert starts == sorted(starts)
    assert [step.type.name for step in run.steps] == [
        "DoExchange", "Sync", "OnTileExecute", "GlobalExchange", "DoExchange", "Sync", "OnTileExecute"
    ]  # fmt: skip
    assert (run.name, run.cycles) == ("step", 200)
    assert (run.microseconds.start, run.microseconds.end) == (0.0, 0.2)


def test_what_ipus_do_together_is_one_step(small: Any) -> None:
    step = small.execution.steps[3]
    assert step.program.name == "enc to head"
    assert [ipu.cycles for ipu in step.ipus] == [20, 20, 20, 20]
    assert [(ipu.dataIn, ipu.dataOut) for ipu in step.ipus[:2]] == [(0, 512), (512, 0)]
    assert len(step.computeSets) == 0


def test_an_ipu_that_takes_no_part_has_no_cycles(small: Any) -> None:
    step = small.execution.steps[2]
    assert [ipu.cycles for ipu in step.ipus] == [90, 0, 90, 0]
    idle = step.ipus[1].activeCycles
    assert idle.cyclesFrom.max == idle.cyclesTo.max == 10
    assert [each.name for each in step.computeSets] == ["enc/fc/multiply"]
    assert step.ipus[0].activeTileBalance == 60 / 90
    assert step.ipus[0].tileBalance == 60 / 90 * 3 / 4
    assert step.cyclesByTile[:5] == [90.0, 45.0, 45.0, 0.0, 0.0]
    assert step.computeSets[0].cyclesByTile == step.cyclesByTile


def test_cycles_of_every_ipu_sum_to_those_of_the_run(small: Any) -> None:
    for ipu in range(4):
        assert (
            sum(step.ipus[ipu].cycles for step in small.execution.steps)
            == small.execution.totalCycles.total
            == 200
        )
    total = small.execution.totalCycles
    assert (total.compute, total.exchange, total.stream, total.sync) == (80.0, 30.0, 0.0, 90.0)
    assert small.execution.profilerMode is pva.ProfilerMode.IPU_MODEL
    assert small.execution.blocks(0) == []


def test_programs_of_a_run(small: Any) -> None:
    names = [program.name for program in small.execution.runs[0].programs]
    assert names == [
        "enc/fc/exchange",
        "enc/fc/multiply",
        "head/out/exchange",
        "head/out/multiply",
        "enc to head",
    ]


def test_columns_of_steps(small: Any) -> None:
    columns = small.execution.steps.to_numpy("name", "cycles", "dataOut")
    assert columns["cycles"].tolist() == [10, 100, 90, 20, 10, 80, 70]
    assert columns["dataOut"].sum() == 512
    assert columns["name"][3] == "enc to head"
    last = small.execution.steps[-2:].to_numpy("cycles")["cycles"]
    assert np.array_equal(last, [80, 70])
