"""Steps: what scales with micro-batches, replicas and IPUs, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip, system
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.schedule.bsp import op_costs
from tremula.schedule.constants import FITTED_SCHEDULE
from tremula.schedule.copies import crossings
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.recompute import recomputation
from tremula.schedule.step import StepTime, step_time

_PLANNER = Planner(chip("mk2"))
_POD = system("pod64")
_PLAIN = Deployment()


def _time(program: Program, deployment: Deployment = _PLAIN, pod: Any = _POD) -> StepTime:
    costs = op_costs(program, _PLANNER).costs
    return step_time(program, costs, recomputation(program, deployment), deployment, pod, _PLANNER)


def _work(program: Program, *phases: Phase) -> float:
    costs = op_costs(program, _PLANNER).costs
    return sum(costs[n].cycles for phase in phases for n in program.of_phase(phase))


@given(accumulation=st.integers(2, 500), replicas=st.integers(1, 16))
def test_accumulation_and_replicas_scale_as_arithmetic_says(
    layered: Callable[..., Any], accumulation: int, replicas: int
) -> None:
    program = layered(3, loops=Loops(gradient_accumulation=accumulation, replicas=replicas))
    time = _time(program)
    device = time.step.compute + time.step.exchange + time.step.sync
    micro_batch = _work(program, Phase.FORWARD, Phase.BACKWARD, Phase.ACCUMULATE)
    assert device == pytest.approx(accumulation * micro_batch + _work(program, Phase.UPDATE))
    assert (time.step.collectives > 0) == (replicas > 1)
    assert time.step.total == pytest.approx(sum(time.step.parts().values()))


@given(iterations=st.integers(1, 100))
def test_device_iterations_share_the_cost_of_a_call(layered: Callable[..., Any], iterations: int) -> None:
    once = _time(layered(2, training=False))
    many = _time(layered(2, training=False, loops=Loops(device_iterations=iterations)))
    assert many.step.host <= once.step.host + 1e-6
    assert many.call_cycles == pytest.approx(iterations * many.step.total)
    assert many.micro_batch == once.micro_batch


def test_a_pipeline_is_as_fast_as_its_slowest_ipu(layered: Callable[..., Any]) -> None:
    program = layered(8, stages=4, loops=Loops(gradient_accumulation=64))
    time = _time(program, Deployment(execution="pipelined", ipus_per_replica=4))
    assert time.pipeline is not None
    assert time.pipeline.stages == 7
    assert time.pipeline.cycles == 64 + 6
    assert [stage.ipu for stage in time.stages] == [0, 1, 2, 3, 2, 1, 0]
    assert time.step.inter_ipu > 0
    assert time.step.pipeline_idle > 0
    assert [stage.copied_bytes for stage in time.stages] == 6 * [16 * 64 * 4] + [0]
    alone = _time(
        replace(program, loops=Loops(gradient_accumulation=64)),
        Deployment(execution="sharded", ipus_per_replica=4),
    )
    assert time.step.total < alone.step.total


def test_recomputation_adds_one_forward_pass(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=2, loops=Loops(gradient_accumulation=8))
    deployment = Deployment(execution="pipelined", ipus_per_replica=2, recompute="all")
    stages = _time(program, deployment).stages
    assert stages[2].recompute == stages[0].forward
    assert stages[1].recompute.total == 0


def test_gradients_and_activations_cross_between_neighbours(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=4)
    found = crossings(program, pipelined=True)
    pairs = [(each.source, each.target) for each in found]
    assert sorted(pairs) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    assert {each.bytes for each in found} == {16 * 64 * 4}


def test_what_is_read_far_away_is_handed_on(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=4, training=False)
    first = program.ops[0].outputs[0]
    program.ops[-1].inputs += (first,)
    handed = [(c.source, c.target) for c in crossings(program, pipelined=True) if c.storage == first]
    assert handed == [(0, 1), (1, 2), (2, 3)]
    direct = [(c.source, c.target) for c in crossings(program, pipelined=False) if c.storage == first]
    assert direct == [(0, 3)]


def test_sharded_state_is_updated_in_parts(layered: Callable[..., Any]) -> None:
    loops = Loops(gradient_accumulation=4, replicas=8)
    program = layered(2, width=1024, loops=loops)
    sharded = Location(sharded=True)
    whole, parts = (
        _time(program, Deployment(optimizer_state=where)).update for where in (Location(), sharded)
    )
    assert parts.arithmetic.compute < whole.arithmetic.compute / 3
    assert set(whole.why) == {"collectives: all-reduce"}
    assert set(parts.why) == {"collectives: reduce-scatter", "collectives: all-gather"}
    assert whole.reduced_bytes == parts.reduced_bytes == 2 * 1024 * 1024 * 4


def test_accumulators_off_the_chip_are_fetched_for_every_micro_batch(layered: Callable[..., Any]) -> None:
    program = layered(2, width=256, loops=Loops(gradient_accumulation=10))
    time = _time(program, Deployment(accumulators=Location(on_chip=False)))
    assert time.update.streamed_bytes == 10 * 2 * 256 * 256 * 4
    assert time.step.streaming > 0
    assert _time(program).step.streaming == 0


@pytest.mark.parametrize("execution", ["serial_phased", "parallel_phased"])
def test_phases_bring_their_weights_from_streaming_memory(
    layered: Callable[..., Any], execution: str
) -> None:
    program = layered(4, training=False, width=256)
    for number, op in enumerate(program.ops):
        op.execution_phase = number // 2
    away = Location(on_chip=False, smallest_elements=1)
    time = _time(program, Deployment(execution=execution, weights=away, activations=away))
    assert time.phases[0].loaded_bytes[0] == 256 * 256 * 4
    assert len(time.phases) == 4
    assert time.step.streaming > 0
    if execution == "parallel_phased":
        serial = _time(program, Deployment(execution="serial_phased", weights=away, activations=away))
        assert time.step.streaming < serial.step.streaming


def test_the_host_takes_call_overhead_and_transfers_apart(layered: Callable[..., Any]) -> None:
    program = layered(2, rows=4096, training=False, loops=Loops(device_iterations=4))
    time = _time(program)
    assert time.step.host_call == pytest.approx(FITTED_SCHEDULE.call_seconds * _POD.chip.clock_hz / 4)
    assert time.step.host_transfer > 0
    device = time.step.total - time.step.host_call - time.step.host_transfer
    assert time.call_cycles == pytest.approx(4 * (device + time.step.host))
    unsent = _time(program, Deployment(synthetic_data=True))
    assert unsent.step.host_call == pytest.approx(time.step.host_call)
    assert unsent.step.host_transfer == pytest.approx(0.0, abs=1e-3)
    assert {"host_call", "host_transfer"} <= set(time.why)


def test_synthetic_data_is_not_sent(layered: Callable[..., Any]) -> None:
    program = layered(2, rows=4096, training=False)
    real, made_up = (_time(program, Deployment(synthetic_data=flag)) for flag in (False, True))
    assert made_up.step.host < real.step.host


def test_what_a_later_stage_of_the_same_ipu_reads_stays_there(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=4)
    before = crossings(program, pipelined=True)
    forward, backward = program.of_phase(Phase.FORWARD)[0], program.of_phase(Phase.BACKWARD)[-1]
    assert program.ops[forward].ipu == program.ops[backward].ipu
    program.ops[backward].inputs += program.ops[forward].outputs
    assert crossings(program, pipelined=True) == before
