"""Estimates of captured and of made-up programs: arithmetic that must hold whatever the planners say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.estimate import Estimate, estimate
from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.context import annotated
from tremula.frontends.torch.capture.placement import PlacementRule, SingleIpu
from tremula.frontends.torch.capture.stages import AutoStages
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec
from tremula.frontends.torch.optimize.spec import Kind as OptimizerKind
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.hardware.catalogue import system
from tremula.memory.categories import Category
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.stages import Mode
from tremula.schedule.deployment import Deployment, Location

_POD = system("pod64")
_ONCE = Loops()
_PLANNER = Planner(_POD.chip)
_PIPELINED = Deployment(execution="pipelined", ipus_per_replica=2, recompute="all")


class Net(torch.nn.Module):
    """Two blocks; with `rule`, each on an IPU of its own."""

    def __init__(self, rule: PlacementRule) -> None:
        super().__init__()
        self.first = torch.nn.Linear(96, 128)
        self.second = torch.nn.Linear(128, 10)
        self.rule = rule

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        self.rule.begin("a", 0)
        hidden = annotated(torch.relu(self.first(x)), kind="recomputation_checkpoint")
        self.rule.begin("b", 1)
        out = self.second(hidden)
        return out, identity_loss(torch.nn.functional.mse_loss(out, y), 2)


def _captured(*, training: bool, pipelined: bool = False, loops: Loops = _ONCE) -> TorchProgram:
    rule: Any = AutoStages(Mode.PIPELINED, same_as_ipu=True) if pipelined else SingleIpu()
    module = Net(rule)
    values = {"learningRate": HyperValue(0.1)}
    values |= {
        key: HyperValue(value, True)
        for key, value in {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weightDecay": 0.0}.items()
    }
    group = GroupSpec(tuple(name for name, _ in module.named_parameters()), values)
    spec = OptimizerSpec(OptimizerKind.ADAM, (group,)) if training else None
    settings = SessionSettings(training, loops=loops, rule=rule)
    inputs = [torch.zeros(32, 96), torch.zeros(32, 10)]
    return capture_program(
        settings, spec, module, lambda v: module(*v), inputs, ["x", "y"], flattenTensorStructure
    ).program


@pytest.fixture(scope="module")
def trained() -> Estimate:
    """Training of the net with Adam, four replicas."""
    loops = Loops(gradient_accumulation=8, replicas=4, device_iterations=5)
    return estimate(program_of(_captured(training=True, loops=loops)), Deployment(), _POD)


def test_a_training_step_is_complete(trained: Estimate) -> None:
    assert {op.phase for op in trained.ops} == {"forward", "backward", "accumulate", "update"}
    assert trained.samples == 32
    assert trained.cycles_per_step == pytest.approx(sum(trained.breakdown.values()))
    assert trained.seconds_per_call == pytest.approx(5 * trained.seconds_per_step)
    assert trained.throughput == pytest.approx(32 * 8 * 4 * 5 / trained.seconds_per_call)
    assert trained.throughput == 4 * trained.throughput_per_replica
    assert trained.breakdown["collectives"] > 0
    assert sum(op.share for op in trained.ops) == pytest.approx(1.0)
    assert 0 < trained.tile_balance <= 1
    assert trained.supersteps >= 8 * 10
    # forward, and twice as much backward (but for the gradient of the input), for eight micro-batches
    products = 2 * 32 * (96 * 128 + 128 * 10)
    assert trained.flops_per_step > 8 * 2 * products


def test_memory_of_adam(trained: Estimate) -> None:
    sizes = trained.memory.by_category
    parameters = 4 * (96 * 128 + 128 + 128 * 10 + 10)
    assert sizes[Category.WEIGHTS] == parameters
    assert sizes[Category.ACCUMULATORS] == parameters
    assert sizes[Category.OPTIMIZER_STATE] == 2 * parameters
    assert trained.memory.fits
    assert sum(int(ipu.per_tile.sum()) for ipu in trained.memory.ipus) == trained.memory.total_bytes


def test_inference_has_no_update() -> None:
    found = estimate(program_of(_captured(training=False)), Deployment(), _POD)
    assert {op.phase for op in found.ops} == {"forward"}
    assert found.time.update.cycles.total == 0
    assert Category.ACCUMULATORS not in found.memory.by_category
    assert found.latency_seconds > 0


def test_a_pipeline_over_two_ipus() -> None:
    loops = Loops(gradient_accumulation=16)
    found = estimate(program_of(_captured(training=True, pipelined=True, loops=loops)), _PIPELINED, _POD)
    assert found.time.pipeline is not None
    assert (found.time.pipeline.stages, found.time.pipeline.cycles) == (3, 18)
    assert [(stage.number, stage.ipu) for stage in found.time.stages] == [(0, 0), (1, 1), (2, 0)]
    # each parameter, its accumulator and its state are where its ops are
    for ipu, parameters in ((0, 96 * 128 + 128), (1, 128 * 10 + 10)):
        sizes = found.memory.ipus[ipu].by_category
        assert sizes[Category.WEIGHTS] == 4 * parameters
        assert sizes[Category.ACCUMULATORS] == 4 * parameters
        assert sizes[Category.OPTIMIZER_STATE] == 8 * parameters
    assert {op.ipu for op in found.ops if op.phase == "update"} >= {0, 1}
    # three micro-batches of the input and of what the user marked
    stashed = found.memory.ipus[0].by_category[Category.STASHES]
    assert stashed == 3 * 4 * 32 * (96 + 128)
    assert Category.STASHES not in found.memory.ipus[1].by_category
    # the activations there, their gradient back
    assert sorted((c.source, c.target, c.bytes) for c in found.time.crossings) == [
        (0, 1, 32 * 128 * 4),
        (1, 0, 32 * 128 * 4),
    ]


def test_the_source_of_an_op_is_the_users_line(trained: Estimate) -> None:
    lines = {op.source.file for op in trained.ops if op.source is not None and op.phase == "forward"}
    assert lines == {__file__}
    assert ("first",) in {op.scope for op in trained.ops}


def test_impossible_placements_are_refused() -> None:
    program = program_of(_captured(training=True, pipelined=True, loops=Loops(gradient_accumulation=16)))
    with pytest.raises(Error, match="more stages than IPUs"):
        estimate(program, replace(_PIPELINED, ipus_per_replica=1), _POD)
    with pytest.raises(Error, match="need 128 IPUs"):
        estimate(replace(program, loops=Loops(gradient_accumulation=16, replicas=64)), _PIPELINED, _POD)


@given(
    layers=st.integers(1, 6),
    stages=st.integers(1, 4),
    accumulation=st.integers(8, 64),
    replicas=st.sampled_from([1, 2, 8, 16]),
    recompute=st.sampled_from(["none", "all"]),
    sharded=st.booleans(),
    on_chip=st.booleans(),
)
def test_breakdowns_sum_and_replicas_do_not_change_the_work(
    layered: Callable[..., Any],
    layers: int,
    stages: int,
    accumulation: int,
    replicas: int,
    recompute: str,
    sharded: bool,
    on_chip: bool,
) -> None:
    stages = min(stages, layers)
    execution = "pipelined" if stages > 1 else "single"
    deployment = Deployment(
        execution=execution,
        ipus_per_replica=stages,
        recompute=recompute,
        optimizer_state=Location(on_chip=on_chip, sharded=sharded),
    )
    one, many = (
        estimate(
            layered(layers, stages=stages, loops=Loops(gradient_accumulation=accumulation, replicas=count)),
            deployment,
            _POD,
            planner=_PLANNER,
        )
        for count in (1, replicas)
    )
    for found in (one, many):
        assert found.cycles_per_step == pytest.approx(sum(found.breakdown.values()))
        assert all(value >= 0 for value in found.breakdown.values())
        assert found.memory.total_bytes == sum(int(ipu.per_tile.sum()) for ipu in found.memory.ipus)
    assert one.time.micro_batch == many.time.micro_batch
    assert one.breakdown["pipeline_idle"] == many.breakdown["pipeline_idle"]
    # never faster than the matrix engines of all IPUs
    peak = found.chip.peak_flops("fp32", "fp32") / found.chip.clock_hz * stages
    assert many.device_cycles_per_step >= many.flops_per_step / peak / 4


@given(doublings=st.integers(1, 4))
def test_more_tile_memory_never_makes_it_slower(layered: Callable[..., Any], doublings: int) -> None:
    chip = _POD.chip
    larger = _POD.with_chip(replace(chip, tile_memory_bytes=chip.tile_memory_bytes * 2**doublings))
    program = layered(2, rows=256, width=512, loops=Loops(gradient_accumulation=2))
    small, large = (estimate(program, Deployment(), where) for where in (_POD, larger))
    assert large.device_cycles_per_step <= small.device_cycles_per_step


def test_io_tiles_do_not_compute(layered: Callable[..., Any]) -> None:
    program = layered(2, rows=2048, width=1024, training=False)
    all_tiles = estimate(program, Deployment(), _POD)
    fewer = estimate(program, Deployment(io_tiles=512), _POD)
    assert fewer.device_cycles_per_step > all_tiles.device_cycles_per_step


def test_one_micro_batch_per_step_needs_no_accumulators(layered: Callable[..., Any]) -> None:
    program = layered(3, loops=Loops(gradient_accumulation=1, replicas=2))
    found = estimate(program, Deployment(), _POD)
    assert Category.ACCUMULATORS not in found.memory.by_category
    assert "accumulate" not in {op.phase for op in found.ops}
    assert found.time.update.reduced_bytes == 3 * 64 * 64 * 4


def test_time_grows_no_faster_than_the_program(layered: Callable[..., Any]) -> None:
    """Equal layers are costed once: more of them add ops, not plans."""
    few, many = (estimate(layered(count, training=False), Deployment(), _POD) for count in (10, 1000))
    assert len({id(cost) for cost in many.costs.costs}) == len({id(cost) for cost in few.costs.costs})
    assert many.time.micro_batch.total == pytest.approx(100 * few.time.micro_batch.total, rel=0.01)
