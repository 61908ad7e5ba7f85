"""Execution strategies: arguments, options, and the rules they give."""

from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import pytest

from poptorch import _strategies as strategies
from poptorch import enums
from tremula.frontends.torch.capture.stages import BlockRule
from tremula.program.stages import Mode


def placed(strategy: Any, *blocks: tuple[str | None, int | None]) -> list[tuple[int, int, int]]:
    rule: BlockRule = strategy._placement_rule()
    found = []
    for block, ipu in blocks:
        rule.begin(block, ipu)
        placement = rule.current()
        found.append((placement.ipu, placement.stage, placement.phase))
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("a", ["b", "c"]),
        (strategies.Stage("a"), strategies.Stage("b", "c")),
    ],
)
def test_stages_in_every_notation(arguments: tuple[Any, ...]) -> None:
    strategy = strategies.PipelinedExecution(*arguments)
    assert placed(strategy, ("a", None), ("b", None), ("c", None)) == [(0, 0, 0), (1, 1, 0), (1, 1, 0)]
    assert strategy.stage("c") is strategy.stage("b")
    with pytest.raises(AssertionError, match="Unknown block z"):
        strategy.stage("z")


def test_a_stage_may_be_moved_to_another_ipu() -> None:
    strategy = strategies.PipelinedExecution("a", "b")
    assert strategy.stage("b").ipu(3) is strategy.stage("b")
    assert placed(strategy, ("b", 1)) == [(3, 1, 0)]


def test_automatic_stages() -> None:
    blocks = (("x", 1), ("y", 0))
    assert placed(strategies.PipelinedExecution(), *blocks) == [(1, 1, 0), (0, 0, 0)]
    counted = strategies.PipelinedExecution(enums.AutoStage.AutoIncrement)
    assert placed(counted, *blocks) == [(1, 1, 0), (0, 2, 0)]
    # a rule serves one capture: the next starts afresh
    assert placed(counted, *blocks) == [(1, 1, 0), (0, 2, 0)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: strategies.PipelinedExecution("a", ["a"]),
        lambda: strategies.SerialPhasedExecution(["a"], ["a"]),
        lambda: strategies.SerialPhasedExecution(),
        lambda: strategies.Stage(1),
        lambda: strategies.Stage("a").ipu("0"),
        lambda: strategies.Phase("a", strategies.Stage("b")),
        lambda: strategies.Phase("a").ipus(0, 1),
        lambda: strategies.SerialPhasedExecution("a").phase(-1),
        lambda: strategies.SerialPhasedExecution("a").setTensorsLiveness(0),
        lambda: strategies.SerialPhasedExecution("a").useSeparateBackwardPhase(1),
        lambda: strategies.ParallelPhasedExecution("a").sendTensorsOffChipAfterFwd(None),
    ],
)
def test_bad_arguments(make: Any) -> None:
    with pytest.raises(AssertionError):
        make()


def test_backend_options() -> None:
    assert strategies.PipelinedExecution().backendOptions() == {"execution_mode": 0}
    assert strategies.ShardedExecution().backendOptions() == {"execution_mode": 1}
    parallel = strategies.ParallelPhasedExecution("a").sendTensorsOffChipAfterFwd()
    assert parallel.backendOptions() == {
        "execution_mode": 2,
        "separate_backward_phase": False,
        "tensors_liveness": enums.Liveness.OffChipAfterFwd.value,
        "serial_phases_execution": False,
    }
    serial = strategies.SerialPhasedExecution("a").useSeparateBackwardPhase()
    assert serial.backendOptions() == {
        "execution_mode": 2,
        "separate_backward_phase": True,
        "tensors_liveness": enums.Liveness.AlwaysLive.value,
        "serial_phases_execution": True,
    }


def test_sharded_rules_are_not_pipelines() -> None:
    assert isinstance(strategies.ShardedExecution(), strategies.PipelinedExecution)
    assert strategies.ShardedExecution()._placement_rule().mode is Mode.SHARDED


@pytest.mark.parametrize(
    "phases",
    [
        ("a", "b"),
        (["a"], ["b"]),
        (strategies.Phase("a"), strategies.Phase("b")),
        (strategies.Stage("a"), strategies.Stage("b")),
        ([strategies.Stage("a")], [strategies.Stage("b")]),
    ],
)
def test_phases_in_every_notation(phases: tuple[Any, ...]) -> None:
    strategy = strategies.SerialPhasedExecution(*phases)
    strategy.phase(0).ipus(1)
    strategy.phase(1).stage(0).ipu(2)
    assert placed(strategy, ("a", None), ("b", None)) == [(1, 0, 0), (2, 0, 1)]


@pytest.mark.parametrize(
    ("liveness", "second", "phases"),
    [
        (enums.Liveness.AlwaysLive, 1, 2),
        (enums.Liveness.OffChipAfterFwd, 1, 5),
        (enums.Liveness.OffChipAfterFwdNoOverlap, 2, 6),
        (enums.Liveness.OffChipAfterEachPhase, 4, 8),
    ],
)
def test_liveness_spreads_phases(liveness: enums.Liveness, second: int, phases: int) -> None:
    strategy = strategies.SerialPhasedExecution("a", "b").setTensorsLiveness(liveness)
    assert placed(strategy, ("a", 0), ("b", 0))[1][2] == second
    assert strategy._rule.summary().phases == phases


def test_separate_backward_phase_takes_one_more() -> None:
    strategy = strategies.SerialPhasedExecution("a", "b").useSeparateBackwardPhase()
    placed(strategy, ("a", 0), ("b", 0))
    assert strategy._rule.summary().phases == 3


def test_copies_keep_the_plan_and_drop_the_capture() -> None:
    strategy = strategies.PipelinedExecution("a", "b")
    strategy.stage("b").ipu(5)
    placed(strategy, ("a", None))
    pickled = pickle.dumps(strategy)
    for clone in (copy.deepcopy(strategy), pickle.loads(pickled)):  # noqa: S301 - our own bytes
        assert clone._rule is None
        assert placed(clone, ("b", None)) == [(5, 1, 0)]
        assert clone.stage("b") is not strategy.stage("b")


def test_placements_are_logged_after_a_capture(caplog: pytest.LogCaptureFixture) -> None:
    strategy = strategies.PipelinedExecution("a", "b")
    logger = logging.getLogger("poptorch::python")
    strategy.onStartTracing()
    placed(strategy, ("a", None), ("b", None))
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.addHandler(caplog.handler)
    try:
        strategy.onEndTracing()
    finally:
        logger.removeHandler(caplog.handler)
        logger.setLevel(level)
        logger.propagate = propagate
    assert "block b: stage 1, phase 0, IPU 1" in caplog.text
