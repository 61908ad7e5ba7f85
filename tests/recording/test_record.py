"""What is written is what the estimate says, and it adds up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.estimate import Estimate, estimate
from tremula.hardware.catalogue import system
from tremula.plan.cost import Alternative, Why
from tremula.plan.planner import Planner
from tremula.profile import Profile, model
from tremula.profile.reader import children
from tremula.profile.reasons import parsed
from tremula.profile.schema import MAX_JSON
from tremula.program.loops import Loops
from tremula.recording import write_profile
from tremula.recording.operations import operations
from tremula.recording.reasons import as_json
from tremula.schedule.deployment import Deployment, Location

_POD = system("pod64")
_PLANNER = Planner(_POD.chip)


def _estimate(layered: Callable[..., Any], **choices: Any) -> Estimate:
    stages, training = choices.get("stages", 1), choices.get("training", True)
    loops = Loops(
        gradient_accumulation=choices.get("accumulation", 1) if training else 1,
        replicas=choices.get("replicas", 1),
        device_iterations=choices.get("iterations", 1),
    )
    program = layered(choices.get("layers", 4), stages=stages, training=training, loops=loops)
    deployment = Deployment(
        execution=choices.get("execution", "pipelined") if stages > 1 else "single",
        pipeline_schedule=choices.get("schedule", "grouped"),
        ipus_per_replica=stages,
        recompute="all" if training and choices.get("recompute") else "none",
        optimizer_state=Location(on_chip=not choices.get("streaming", False), smallest_elements=1),
    )
    return estimate(program, deployment, _POD, planner=_PLANNER)


@settings(max_examples=40)
@given(
    layers=st.integers(2, 6),
    stages=st.integers(1, 2),
    training=st.booleans(),
    accumulation=st.integers(3, 20),
    replicas=st.sampled_from([1, 2, 16]),
    iterations=st.sampled_from([1, 7, 100]),
    recompute=st.booleans(),
    schedule=st.sampled_from(["grouped", "interleaved", "sequential"]),
    execution=st.sampled_from(["pipelined", "sharded"]),
    streaming=st.booleans(),
)
def test_rows_add_up_to_the_summary(
    layered: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, **choices: Any
) -> None:
    found = _estimate(layered, **choices)
    path = write_profile(found, tmp_path_factory.mktemp("profile") / "profile.pop")
    with Profile(path) as profile:
        _time_adds_up(profile, found)
        _memory_adds_up(profile, found)


def _time_adds_up(profile: Profile, found: Estimate) -> None:
    step = profile.figures["cycles_per_step"].value
    assert step == found.cycles_per_step
    assert sum(profile.breakdown.values()) == pytest.approx(step)
    # ops, by phase and in the tree
    work = sum(op.cycles for op in profile.ops)
    assert work == pytest.approx(profile.figures["work_cycles_per_step"].value)
    turns = profile.figures["micro_batches_per_step"].value
    of_stages = turns * sum(stage.cycles for stage in profile.stages)
    assert of_stages == pytest.approx(sum(op.cycles for op in profile.ops if op.phase != "update"))
    for node, below in zip(profile.programs, children(profile.programs), strict=True):
        if below:
            inside = sum(profile.programs[child].cycles for child in below)
            assert node.cycles == pytest.approx(node.repeats * inside)
    beyond = sum(transfer.cycles for transfer in profile.transfers)
    assert profile.programs[0].cycles == pytest.approx(work + beyond)
    # transfers are the parts of the breakdown beyond the chip
    kinds: dict[str, float] = defaultdict(float)
    for transfer in profile.transfers:
        kinds[transfer.kind] += transfer.cycles
    for kind, part in (
        ("collective", "collectives"), ("streaming", "streaming"), ("copy", "inter_ipu"), ("call", "host_call"),
        ("host", "host_transfer"),
    ):  # fmt: skip
        assert kinds[kind] == pytest.approx(profile.breakdown[part])
    # plans are the sums of their supersteps
    for plan in profile.plans:
        assert plan.cycles == pytest.approx(sum(s.cycles for s in profile.supersteps[plan.id]))
    for op in profile.ops:
        assert op.cycles == pytest.approx(op.runs * profile.plans[op.plan_id].cycles)
    if (
        found.deployment.execution == "single"
    ):  # nothing overlaps: the work of ops and the rest is all of a step
        assert work + beyond == pytest.approx(step)
    if found.time.pipeline is not None:
        phases = {row.phase: row.elapsed_cycles for row in profile.pipeline_phases}
        assert sum(phases.values()) == pytest.approx(found.time.pipeline.total.total)
        for stage in profile.stages:
            busy = sum(row.busy_cycles for row in profile.pipeline_phases if row.stage == stage.stage)
            batches = profile.figures["pipeline_micro_batches"].value
            assert busy == pytest.approx(batches * stage.cycles)


def _memory_adds_up(profile: Profile, found: Estimate) -> None:
    total = 0
    for row in profile.ipus:
        tiles = profile.tile_bytes(row.ipu)
        per_tile = sum(tiles.values())
        assert int(per_tile.sum()) == row.total_bytes
        assert int(per_tile.max()) == row.max_tile_bytes
        assert int(per_tile.argmax()) == row.fullest_tile
        live, temporary = profile.live_bytes(row.ipu)
        assert int(live[row.peak_step] + temporary[row.peak_step]) == row.not_always_live_bytes
        gaps = int(tiles["gaps"].sum())
        assert row.always_live_bytes + row.not_always_live_bytes + gaps == row.total_bytes
        assert len(live) == len(profile.program_steps[0])
        total += row.total_bytes
    assert total == found.memory.total_bytes == profile.figures["total_bytes"].value


@pytest.mark.parametrize("most", [5, 12, 35])
def test_a_large_program_is_merged_and_still_adds_up(layered: Callable[..., Any], most: int) -> None:
    found = _estimate(layered, layers=6)
    whole, merged = operations(found), operations(found, most)
    assert merged.merged
    assert len(merged.ops) <= most
    assert sum(op.merged for op in merged.ops) == len(whole.ops)
    assert sum(op.cycles for op in merged.ops) == pytest.approx(sum(op.cycles for op in whole.ops))
    assert [op.id for op in merged.ops] == list(range(len(merged.ops)))
    assert max(merged.rows) < len(merged.ops)


@pytest.mark.parametrize(("graph", "execution"), [(True, False), (False, True)])
def test_parts_can_be_left_out(
    layered: Callable[..., Any], tmp_path: Path, graph: bool, execution: bool
) -> None:
    path = write_profile(_estimate(layered), tmp_path / "profile.pop", graph=graph, execution=execution)
    with Profile(path) as profile:
        assert (
            bool(profile.ipus) == bool(len(profile.frame("variables"))) == bool(profile.vertex_types) == graph
        )
        assert bool(profile.breakdown) == bool(profile.stages) == bool(profile.runs) == execution
        assert bool(len(profile.frame("steps").column("ipu"))) == execution
        assert profile.programs
        assert profile.ops
        assert profile.meta["parts"] == ("graph" if graph else "execution")


def test_an_op_says_where_it_comes_from(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        op = next(op for op in profile.ops if op.name.endswith("mm0"))
        assert (op.phase, op.ipu, op.runs) == ("forward", 0, 16), "8 micro-batches, each computed again"
        assert profile.reason(profile.plans[op.plan_id]).alternatives
        assert {transfer.name for transfer in profile.transfers} >= {"all-reduce", "transfers with the host"}
        assert {row.phase for row in profile.pipeline_phases} == {"fill", "full", "drain"}


def test_figures_have_bands(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        for name in ("throughput", "cycles_per_step", "max_tile_bytes"):
            figure = profile.figures[name]
            assert figure.band
            assert figure.low < figure.high
            assert figure.low <= figure.value <= figure.high


def test_long_reasons_are_cut_to_fit() -> None:
    part = Why(
        "p" * 900, "f" * 900, "s" * 900, {f"figure {n}": float("inf") if n == 3 else n for n in range(99)}
    )
    rejected = tuple(Alternative("a" * 900, float(n), "r" * 900) for n in range(99))
    why = Why("whole", "", "", alternatives=rejected, parts=(Why("in", "", "", parts=(part,) * 99),) * 99)
    text = as_json(why)
    assert len(text) <= MAX_JSON
    assert "left out" in parsed(text).plan
    assert parsed(as_json(part)).figures["figure 2"] == 2
    assert "figure 3" not in parsed(as_json(part)).figures


def test_every_row_class_is_written(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        for row in (model.Lifetime, model.Contributor, model.Option, model.Count, model.Liveness):
            assert profile.rows(row)


def test_settings_are_written_as_people_read_them(layered: Callable[..., Any], tmp_path: Path) -> None:
    found = _estimate(
        layered, stages=2, layers=4, accumulation=8, replicas=2, execution="pipelined", streaming=True
    )
    with Profile(write_profile(found, tmp_path / "profile.pop")) as profile:
        values = {option.name: option.value for option in profile.options}
    assert not [text for text in values.values() if "(" in text and "=" in text], "no reprs of Python objects"
    assert values["optimizer_state"].startswith("on chip: ")
    assert values["overlap_io"] == "no"
