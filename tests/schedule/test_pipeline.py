"""Pipelines: the documented numbers of stages, cycles and stashes, and durations against a simulation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.program.stages import pipeline_stages
from tremula.schedule.bsp import Cycles
from tremula.schedule.pipeline import (
    StageTime,
    pipeline_cycles,
    run_pipeline,
    stash_depth,
)


def test_stages_cycles_and_stashes_of_four_ipus() -> None:
    assert pipeline_stages(4, training=True) == 7
    assert pipeline_stages(4, training=False) == 4
    assert pipeline_cycles(7, 2048) == 2 * 6 + (2048 - 6)
    # PopART: 7, 5, 3 and none where the gradient follows at once
    assert [stash_depth(stage, 4) for stage in range(4)] == [7, 5, 3, 0]
    assert [stash_depth(stage, 4, "interleaved") for stage in range(4)] == [4, 3, 2, 0]
    assert [stash_depth(stage, 4, "sequential") for stage in range(4)] == [0, 0, 0, 0]


def _stages(works: list[float], ipus: list[int]) -> list[StageTime]:
    return [
        StageTime(n, ipu, ("forward",), forward=Cycles(compute=work))
        for n, (work, ipu) in enumerate(zip(works, ipus, strict=True))
    ]


def _simulated(works: list[float], ipus: list[int], micro_batches: int, copies: float) -> float:
    """Cycle by cycle: stage s works on micro-batch c - s, an IPU runs all of its stages, then all copy."""
    total = 0.0
    for cycle in range(len(works) + micro_batches - 1):
        by_ipu = dict.fromkeys(ipus, 0.0)
        for stage, (work, ipu) in enumerate(zip(works, ipus, strict=True)):
            if 0 <= cycle - stage < micro_batches:
                by_ipu[ipu] += work
        total += max(by_ipu.values()) + copies
    return total


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=9),
    st.integers(1, 40),
    st.integers(0, 100),
    st.data(),
)
def test_duration_is_that_of_a_simulation(
    works: list[int], micro_batches: int, copies: int, data: st.DataObject
) -> None:
    values = [float(work) for work in works]
    ipus = data.draw(st.lists(st.integers(0, 3), min_size=len(works), max_size=len(works)))
    done = run_pipeline(_stages(values, ipus), micro_batches, Cycles(inter_ipu=copies))
    assert done.total.total == pytest.approx(_simulated(values, ipus, micro_batches, copies))
    assert done.cycles == len(works) + micro_batches - 1
    assert 0 < done.balance <= 1.0
    # what a full cycle does is what every micro-batch costs; the rest is filling and draining
    assert done.total.total - done.total.pipeline_idle == pytest.approx(micro_batches * done.cycle.total)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=7), st.integers(8, 64))
def test_schedules_are_ordered(works: list[int], micro_batches: int) -> None:
    """Without overlap a pipeline is never faster; interleaving only adds waiting."""
    stages = _stages([float(work) for work in works], list(range(len(works))))
    grouped, interleaved, sequential = (
        run_pipeline(stages, micro_batches, Cycles(), schedule).total.total
        for schedule in ("grouped", "interleaved", "sequential")
    )
    assert grouped <= interleaved + 1e-6
    assert grouped <= sequential + 1e-6


def test_equal_stages_are_balanced() -> None:
    done = run_pipeline(_stages([100.0] * 4, [0, 1, 2, 3]), 100, Cycles())
    assert done.balance == 1.0
    assert done.total.total == 103 * 100.0
