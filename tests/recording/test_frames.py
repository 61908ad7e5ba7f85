"""Frames say the same as the tables: sums over steps, variables, compute sets and code are those of the summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tremula.estimate import Estimate, estimate
from tremula.hardware.catalogue import system
from tremula.plan.planner import Planner
from tremula.profile import Profile
from tremula.profile.program_types import COMPUTE, EXCHANGE, STREAM, ProgramType
from tremula.program.loops import Loops
from tremula.recording import write_profile
from tremula.recording.operations import operations
from tremula.recording.order import order
from tremula.recording.programs import program_tree
from tremula.recording.runs import RunLayout
from tremula.recording.segments import OpSegments
from tremula.recording.shapes import shapes
from tremula.recording.times import transfers
from tremula.schedule.deployment import Deployment, Location

_POD = system("pod64")
_PLANNERS = {tiles: Planner(_POD.chip.with_tiles(_POD.chip.tiles - tiles)) for tiles in (0, 32)}


def _estimate(layered: Callable[..., Any], **choices: Any) -> Estimate:
    stages, training = choices.get("stages", 1), choices.get("training", True)
    loops = Loops(
        gradient_accumulation=choices.get("accumulation", 1) if training else 1,
        replicas=choices.get("replicas", 1),
        device_iterations=choices.get("iterations", 1),
    )
    program = layered(choices.get("layers", 4), stages=stages, training=training, loops=loops)
    io_tiles = choices.get("io_tiles", 0)
    deployment = Deployment(
        execution=choices.get("execution", "pipelined") if stages > 1 else "single",
        pipeline_schedule=choices.get("schedule", "grouped"),
        ipus_per_replica=stages,
        recompute="all" if training and choices.get("recompute") else "none",
        optimizer_state=Location(
            on_chip=not choices.get("streaming", False),
            sharded=choices.get("sharded", False),
            smallest_elements=1,
        ),
        io_tiles=io_tiles,
        overlap_io=bool(io_tiles),
    )
    return estimate(program, deployment, _POD, planner=_PLANNERS[io_tiles])


_CHOICES: dict[str, Any] = {
    "layers": st.integers(2, 6),
    "stages": st.integers(1, 2),
    "training": st.booleans(),
    "accumulation": st.integers(3, 20),
    "replicas": st.sampled_from([1, 2, 16]),
    "iterations": st.sampled_from([1, 7]),
    "recompute": st.booleans(),
    "schedule": st.sampled_from(["grouped", "interleaved", "sequential"]),
    "execution": st.sampled_from(["pipelined", "sharded"]),
    "streaming": st.booleans(),
    "sharded": st.booleans(),
    "io_tiles": st.sampled_from([0, 32]),
    "most_steps": st.sampled_from([300, 2_000, 500_000]),
}

#: each replica updates a part of the weights: less arithmetic, but as many syncs
_SHARED_STATE: dict[str, Any] = {
    "layers": 2, "stages": 1, "training": True, "accumulation": 3, "replicas": 2, "iterations": 7, "recompute": False,
    "schedule": "grouped", "execution": "pipelined", "streaming": False, "sharded": True, "io_tiles": 0,
    "most_steps": 300,
}  # fmt: skip


@settings(max_examples=40)
@given(**_CHOICES)
@example(**_SHARED_STATE)
def test_frames_add_up_to_the_summary(
    layered: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, most_steps: int, **choices: Any
) -> None:
    found = _estimate(layered, **choices)
    path = write_profile(found, tmp_path_factory.mktemp("profile") / "profile.pop", most_steps=most_steps)
    _lanes_take_the_modelled_time(found, most_steps)
    with Profile(path) as profile:
        _lanes_add_up(profile)
        _parts_add_up(profile, found)
        _pyramids_add_up(profile)
        _compute_sets_add_up(profile)
        _tree_adds_up(profile)
        _variables_add_up(profile)
        _code_adds_up(profile)


def _lanes_add_up(profile: Profile) -> None:
    """The steps of an IPU in a run follow each other from its start to its end."""
    steps, lanes = profile.frame("steps"), profile.frame("lanes")
    column = {name: steps.column(name) for name in steps.columns}
    ends = column["start"] + column["cycles"]
    ipus = profile.target.ipus_per_replica
    assert len(lanes) == ipus * len(profile.runs)
    assert [run.kind for run in profile.runs] == ["upload", "step", "step"]
    next_step = 0
    for run, ipu, first, count, cycles in zip(
        *(lanes.column(n).tolist() for n in lanes.columns), strict=True
    ):
        assert first == next_step
        mine = slice(first, first + count)
        assert set(column["run"][mine]) == {run}
        assert set(column["ipu"][mine]) == {ipu}
        assert column["start"][first] == 0
        assert np.array_equal(column["start"][mine][1:], ends[mine][:-1]), "no hole"
        assert int(column["cycles"][mine].sum()) == cycles == profile.runs[run].cycles
        next_step += count
    assert next_step == len(steps) == sum(run.steps for run in profile.runs)
    assert profile.runs[1].cycles == round(profile.figures["cycles_per_call"].value)
    assert bool(np.all(column["mean_tile_cycles"] <= column["cycles"] + 1))
    computes = np.isin(column["type"], [int(each) for each in COMPUTE])
    assert bool(np.all(column["mean_tile_cycles"][~computes] == 0))


def _lanes_take_the_modelled_time(found: Estimate, most_steps: int) -> None:
    """Laid out one by one, the steps of every IPU end with the call: nothing is cut off or filled up."""
    listed = operations(found)
    shaped, ordered = shapes(listed, found.chip.worker_contexts), order(found, listed.rows)
    tree = program_tree(found, listed, shaped, ordered, transfers(found), [-1] * len(listed.ops), 0.0)
    layout = RunLayout(found, ordered, tree, OpSegments(listed, shaped, tree), most_steps)
    layout.lay_out()
    for lane in layout.lanes.values():
        assert lane.now == pytest.approx(found.cycles_per_call, rel=1e-6, abs=2.0)


def _parts_add_up(profile: Profile, found: Estimate) -> None:
    """Steps of a kind take what the breakdown says of it, on every IPU; where IPUs overlap, on the busiest."""
    steps, iterations = profile.frame("steps"), found.loops.device_iterations
    types, cycles = steps.column("type"), steps.column("cycles")
    parts = profile.breakdown

    def of(ipu: int, *kinds: ProgramType) -> int:
        mine = (steps.column("run") == 1) & (steps.column("ipu") == ipu)
        return int(cycles[mine & np.isin(types, [int(kind) for kind in kinds])].sum())

    rounding = 2 + len(steps)
    for ipu in range(profile.target.ipus_per_replica):
        streamed = iterations * (parts["host_transfer"] + parts["streaming"])
        assert of(ipu, *STREAM) == pytest.approx(streamed, rel=1e-4, abs=rounding)
        beyond = iterations * (parts["inter_ipu"] + parts["collectives"])
        assert of(ipu, ProgramType.GlobalExchange) >= beyond * (1 - 1e-4) - rounding
    if profile.target.ipus_per_replica == 1:
        for name, kind in (("compute", ProgramType.OnTileExecute), ("exchange", ProgramType.DoExchange)):
            assert of(0, kind) == pytest.approx(iterations * parts[name], rel=1e-3, abs=rounding)


def _pyramids_add_up(profile: Profile) -> None:
    steps, lanes, pyramid = (profile.frame(name) for name in ("steps", "lanes", "pyramid"))
    types, cycles = steps.column("type"), steps.column("cycles")
    level, lane = pyramid.column("level"), pyramid.column("lane")
    for number in range(len(lanes)):
        first, count = int(lanes.column("first_step")[number]), int(lanes.column("steps")[number])
        mine = slice(first, first + count)
        for high in np.unique(level[lane == number]).tolist():
            here = (lane == number) & (level == high)
            for name, kinds in (("compute", COMPUTE), ("exchange", EXCHANGE), ("stream", STREAM)):
                of = np.isin(types[mine], [int(kind) for kind in kinds])
                assert int(pyramid.column(name)[here].sum()) == int(cycles[mine][of].sum())
    live = profile.frame("liveness_pyramid")
    for row in profile.ipus:
        values = sum(profile.live_bytes(row.ipu))
        mine_live = live.column("ipu") == row.ipu
        if len(values) > 1:
            assert int(live.column("high")[mine_live].max()) == int(values.max())
            assert int(live.column("low")[mine_live].min()) == int(values.min())


def _compute_sets_add_up(profile: Profile) -> None:
    frame, programs = profile.frame("compute_sets"), profile.frame("programs")
    sums = np.zeros(len(profile.ops))
    np.add.at(sums, frame.column("op_id"), frame.column("cycles"))
    assert sums * [op.runs for op in profile.ops] == pytest.approx([op.compute_cycles for op in profile.ops])
    named = programs.column("compute_set") >= 0
    executes = programs.column("type") == ProgramType.OnTileExecute
    assert np.array_equal(named, executes)
    names, sets = programs.column("name"), frame.column("name")
    for row in np.flatnonzero(executes):
        assert names[row] == sets[programs.column("compute_set")[row]]
    vertices = profile.frame("vertices")
    counted: dict[tuple[int, int], int] = defaultdict(int)
    for plan, step, count in zip(
        *(vertices.column(name).tolist() for name in ("plan_id", "superstep", "count")), strict=True
    ):
        counted[plan, step] += count
    for plan, step, count in zip(
        *(frame.column(name).tolist() for name in ("plan_id", "superstep", "vertices")), strict=True
    ):
        assert counted[plan, step] == count > 0


def _tree_adds_up(profile: Profile) -> None:
    frame = profile.frame("programs")
    parents, cycles, repeats = (frame.column(name) for name in ("parent", "cycles", "repeats"))
    types, kinds = frame.column("type"), frame.column("kind")
    children = np.zeros(len(frame))
    np.add.at(children, parents[1:], cycles[1:])
    inner = np.zeros(len(frame), dtype=bool)
    inner[parents[1:]] = True
    inner[[row for row, kind in enumerate(kinds) if kind == "op"]] = True
    assert cycles[inner] == pytest.approx(repeats[inner] * children[inner])
    assert types[0] == ProgramType.OnEveryTileSwitch
    below = np.flatnonzero(parents == 0)
    assert [kinds[row] for row in below] in (["upload", "step"], ["upload", "main"])
    begins, mids, ends = (int((types == each).sum()) for each in sorted(STREAM))
    assert begins == mids == ends >= 1
    contexts, context = profile.frame("contexts"), frame.column("context")
    for row in np.flatnonzero(context >= 0):
        assert contexts.column("op_id")[context[row]] == frame.column("op_id")[row]


def _variables_add_up(profile: Profile) -> None:
    """On every tile the variables of a use have its bytes; in every program step those alive have its live bytes."""
    frame = profile.frame("variables")
    assert "(others)" not in frame.column("name"), "nothing is left out"
    names = [category.name for category in profile.categories]
    category, size = frame.column("category"), frame.column("bytes")
    for row in profile.ipus:
        tiles = profile.tile_bytes(row.ipu)
        for tile in {0, 1, row.fullest_tile, profile.target.tiles_per_ipu - 1}:
            sums: dict[str, int] = defaultdict(int)
            for variable, on_tile in zip(*profile.variables_on_tile(row.ipu, tile), strict=True):
                sums[names[category[variable]]] += int(on_tile)
            assert sums == {name: int(values[tile]) for name, values in tiles.items() if values[tile]}
        mine = np.flatnonzero(frame.column("ipu") == row.ipu)
        alive = {*profile.alive_at(row.ipu, row.peak_step, always=True).tolist()}
        whole = sum(profile.variable_tiles(int(each)) for each in mine if each in alive)
        assert np.array_equal(whole, sum(tiles.values()))
        assert int(size[sorted(alive)].sum()) == row.total_bytes
        live, temporary = profile.live_bytes(row.ipu)
        for step in {0, row.peak_step, len(live) // 2, len(live) - 1}:
            now = profile.alive_at(row.ipu, step)
            assert int(size[now].sum()) == int(live[step] + temporary[step])


def _code_adds_up(profile: Profile) -> None:
    uses: dict[str, int] = defaultdict(int)
    for row in profile.ipus:
        for name, values in profile.tile_bytes(row.ipu).items():
            uses[name] += int(values.sum())
    assert sum(each.code_bytes for each in profile.vertex_types) == uses["vertex code"]
    assert sum(each.state_bytes for each in profile.vertex_types) == uses["vertex state"]
    code = profile.frame("programs").column("code_bytes")
    assert int(code.sum()) == uses["exchange code"] + uses["control code"]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("schedule", ["grouped", "interleaved", "sequential"])
def test_pipelines_take_the_modelled_time(layered: Callable[..., Any], schedule: str, training: bool) -> None:
    found = _estimate(
        layered, stages=2, accumulation=5, layers=6, schedule=schedule, training=training, iterations=3
    )
    _lanes_take_the_modelled_time(found, 500_000)
    _lanes_take_the_modelled_time(found, 500)


def test_runs_say_what_was_left_out(layered: Callable[..., Any], tmp_path: Path) -> None:
    found = _estimate(layered, stages=2, accumulation=20)
    with Profile(write_profile(found, tmp_path / "profile.pop", most_steps=400, runs=1)) as profile:
        assert "are added up" in profile.runs[1].note
        assert len(profile.frame("steps")) < 500
    with Profile(write_profile(found, tmp_path / "profile.pop")) as profile:
        assert profile.runs[1].note == "modelled, not measured"
        batches = profile.frame("steps").column("micro_batch")
        assert set(batches.tolist()) == {-1, *range(20)}


def test_stages_of_a_pipeline_wait_for_each_other(layered: Callable[..., Any], tmp_path: Path) -> None:
    """While the pipeline fills, the second IPU waits for the first micro-batch."""
    found = _estimate(layered, stages=2, accumulation=5, layers=6)
    with Profile(write_profile(found, tmp_path / "profile.pop", runs=1)) as profile:
        steps = profile.frame("steps")
        columns = {name: steps.column(name) for name in steps.columns}
        second = (columns["run"] == 1) & (columns["ipu"] == 1)
        works = second & (columns["stage"] >= 0)
        first_work = int(columns["start"][works].min())
        waits = second & (columns["type"] == ProgramType.Sync) & (columns["start"] < first_work)
        stage = next(each for each in profile.stages if each.stage == 0)
        assert int(columns["cycles"][waits].sum()) >= round(stage.cycles) - 2


def test_large_programs_keep_the_largest_variables(
    layered: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tremula.recording import variables

    write = variables.VariableRecorder.write
    monkeypatch.setattr(variables.VariableRecorder, "write", lambda self, frame: write(self, frame, most=60))
    with Profile(write_profile(_estimate(layered, stages=2), tmp_path / "profile.pop")) as profile:
        assert len(profile.frame("variables")) <= 60
        assert "(others)" in profile.frame("variables").column("name")
        for row in profile.ipus:
            tiles = profile.tile_bytes(row.ipu)
            for tile in (0, 5, 1_471):
                assert int(profile.variables_on_tile(row.ipu, tile)[1].sum()) == sum(
                    int(v[tile]) for v in tiles.values()
                )


@pytest.mark.parametrize("most", [12, 35])
def test_merged_ops_still_add_up(
    layered: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    from tremula.recording import record

    operations = record.operations
    monkeypatch.setattr(record, "operations", lambda found: operations(found, most))
    found = _estimate(layered, stages=2, layers=6, accumulation=4, recompute=True)
    with Profile(write_profile(found, tmp_path / "profile.pop")) as profile:
        assert "the tree ends at ops" in profile.meta["programs"]
        assert "leaf" not in {
            kind for kind, op in zip(*_tree(profile, "kind", "op_id"), strict=True) if op >= 0
        }
        assert len(profile.frame("compute_sets")) == 0
        _lanes_add_up(profile)
        _pyramids_add_up(profile)
        _variables_add_up(profile)
        _code_adds_up(profile)
        assert profile.programs[0].cycles == pytest.approx(
            sum(op.cycles for op in profile.ops) + sum(each.cycles for each in profile.transfers)
        )


def _tree(profile: Profile, *names: str) -> list[Any]:
    return [profile.frame("programs").column(name) for name in names]


@pytest.mark.parametrize("execution", ["serial_phased", "parallel_phased"])
@pytest.mark.parametrize("training", [True, False])
def test_phased_programs_add_up(
    layered: Callable[..., Any], tmp_path: Path, execution: str, training: bool
) -> None:
    program = layered(4, stages=2, training=training, loops=Loops(gradient_accumulation=3 if training else 1))
    deployment = Deployment(
        execution=execution,
        ipus_per_replica=2,
        recompute="all" if training else "none",
        weights=Location(on_chip=False, smallest_elements=1),
        activations=Location(on_chip=False, smallest_elements=1),
    )
    found = estimate(program, deployment, _POD, planner=_PLANNERS[0])
    with Profile(write_profile(found, tmp_path / "profile.pop")) as profile:
        _lanes_add_up(profile)
        _variables_add_up(profile)
        _tree_adds_up(profile)
