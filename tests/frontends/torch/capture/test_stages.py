"""Placement rules: stage numbers, phases, IPUs, and the checks that follow from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.capture.placement import SingleIpu
from tremula.frontends.torch.capture.stages import AutoStages, BlockTarget, ListedPhases, ListedStages, check
from tremula.program.stages import Mode


def place(
    rule: AutoStages | ListedStages, *blocks: tuple[str | None, int | None]
) -> list[tuple[int, int, int]]:
    placed = []
    for block, ipu in blocks:
        rule.begin(block, ipu)
        placement = rule.current()
        placed.append((placement.ipu, placement.stage, placement.phase))
        rule.end()
    return placed


def test_ops_before_the_first_block_are_on_ipu_0() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=True)
    assert (rule.current().ipu, rule.current().block) == (0, None)


def test_ops_after_a_closed_block_are_refused_until_the_next() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=True)
    rule.begin("a", 0)
    rule.end()
    with pytest.raises(Error, match="No active Block"):
        rule.current()
    rule.begin("b", 1)
    assert rule.current().ipu == 1


def test_same_as_ipu_numbers_stages_by_ipu() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=True)
    assert place(rule, ("a", 0), ("b", 2), ("c", 1)) == [(0, 0, 0), (2, 2, 0), (1, 1, 0)]


def test_same_as_ipu_needs_an_ipu() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=True)
    with pytest.raises(AssertionError, match="block a names no IPU"):
        rule.begin("a", None)


def test_auto_increment_counts_new_blocks_from_one() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=False)
    assert place(rule, ("a", 0), ("b", 1), ("c", 2), ("d", 1), ("a", 0)) == [
        (0, 1, 0),
        (1, 2, 0),
        (2, 3, 0),
        (1, 4, 0),
        (0, 1, 0),
    ]


def test_a_block_without_ipu_runs_on_its_stage_number() -> None:
    rule = ListedStages(Mode.PIPELINED, {"a": BlockTarget(0), "b": BlockTarget(1)})
    assert place(rule, ("a", None), ("b", None)) == [(0, 0, 0), (1, 1, 0)]


def test_an_ipu_of_the_strategy_wins_over_the_blocks() -> None:
    rule = ListedStages(Mode.SHARDED, {"a": BlockTarget(0, ipu=3)})
    assert place(rule, ("a", 1)) == [(3, 0, 0)]


def test_listed_stages_know_only_their_blocks() -> None:
    rule = ListedStages(Mode.PIPELINED, {"a": BlockTarget(0)})
    with pytest.raises(AssertionError, match=r"Unknown block 'z'.*\['a'\]"):
        rule.begin("z", 0)


def test_unnamed_blocks_are_numbered_and_can_start_again() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=True)
    place(rule, (None, 0), ("x", 0), (None, 1))
    rule.reset_auto_ids()
    place(rule, (None, 0))
    assert [placement.block for placement in rule.summary().blocks] == ["0", "x", "1"]


def test_an_owner_keeps_its_number() -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=False)
    for owner in ("p", "q", "p"):
        rule.begin_owned(owner, 0)
        rule.current()
    assert [(p.block, p.stage) for p in rule.summary().blocks] == [("0", 1), ("1", 2)]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_a_stage_per_change_of_ipu(ipus: list[int]) -> None:
    rule = AutoStages(Mode.PIPELINED, same_as_ipu=False)
    for number, ipu in enumerate(ipus):
        rule.begin(str(number), ipu)
        rule.current()
    changes = sum(a != b for a, b in zip([0, *ipus], ipus, strict=False))
    seen = rule.summary()
    assert seen.forward_stages == changes + 1
    assert seen.pipeline_stages(training=True) == 2 * changes + 1
    assert seen.ipus_used == tuple(sorted(set(ipus)))
    assert seen.ipus_per_replica == max(ipus) + 1


@pytest.mark.parametrize(("stride", "gap", "phases"), [(1, 0, 3), (1, 3, 6), (2, 3, 8), (4, 3, 12)])
def test_phases_are_spread_for_liveness(stride: int, gap: int, phases: int) -> None:
    blocks = {f"b{n}": BlockTarget(phase=n, ipu=0) for n in range(3)}
    rule = ListedPhases(blocks, stride=stride, gap=gap)
    assert [phase for _, _, phase in place(rule, *((block, None) for block in blocks))] == [
        0,
        stride,
        2 * stride,
    ]
    assert (rule.summary().phases, rule.summary().phase_groups) == (phases, 1)


def test_parallel_phases_alternate_between_even_and_odd_ipus() -> None:
    rule = ListedPhases({"a": BlockTarget(phase=0), "b": BlockTarget(phase=1)}, serial=False)
    assert place(rule, ("a", 2), ("b", 3)) == [(2, 0, 0), (3, 0, 1)]
    with pytest.raises(Error, match="even phases must be on even IPUs"):
        rule.begin("b", 2)


def test_parallel_phases_cannot_leave_the_chip_in_between() -> None:
    with pytest.raises(Error, match="serially"):
        ListedPhases({"a": BlockTarget()}, stride=4, serial=False)


def test_a_phase_needs_an_ipu() -> None:
    rule = ListedPhases({"a": BlockTarget(phase=0)})
    with pytest.raises(Error, match="block a of phase 0 has no IPU"):
        rule.begin("a", None)


def four_stages(mode: Mode) -> AutoStages:
    rule = AutoStages(mode, same_as_ipu=True)
    place(rule, *((str(n), n) for n in range(4)))
    return rule


def test_training_needs_a_micro_batch_per_stage_both_ways() -> None:
    rule = four_stages(Mode.PIPELINED)
    with pytest.raises(
        Error, match=r"gradientAccumulation must be .* stages \(7\): 4 forward and 3 backward"
    ):
        check(rule, training=True, gradient_accumulation=6, device_iterations=100)
    check(rule, training=True, gradient_accumulation=7, device_iterations=1)


def test_inference_needs_a_micro_batch_per_stage() -> None:
    rule = four_stages(Mode.PIPELINED)
    with pytest.raises(Error, match=r"deviceIterations must be greater: the pipeline has 4 stages"):
        check(rule, training=False, gradient_accumulation=1, device_iterations=3)
    check(rule, training=False, gradient_accumulation=1, device_iterations=4)


def test_only_pipelines_are_checked() -> None:
    check(four_stages(Mode.SHARDED), training=True, gradient_accumulation=1, device_iterations=1)
    check(SingleIpu(), training=True, gradient_accumulation=1, device_iterations=1)
