"""The time of a step: one weight update when training, one micro-batch for inference.

A training step is G times (forward, recomputed forward, backward, accumulation), then once what the update
takes: gradients reduced over replicas, state fetched from streaming memory, the optimizer's arithmetic. IPUs of a
replica run the update side by side, and so does every replica: the number of replicas changes nothing but
the collectives. Host transfers and the cost of a call are spread over the steps of the call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tremula.hardware.system import System
from tremula.plan.cost import Cost, Why
from tremula.plan.planner import Planner
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.schedule.bsp import Cycles, CycleSum
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants
from tremula.schedule.copies import Crossing, crossings
from tremula.schedule.deployment import Deployment
from tremula.schedule.host_io import HostCall, call_time
from tremula.schedule.links import stage_copies
from tremula.schedule.phased import PhaseLoad, phase_loads, phased_micro_batch
from tremula.schedule.pipeline import PipelineTime, StageTime, run_pipeline
from tremula.schedule.recompute import Recomputation
from tremula.schedule.replicas import UpdateTime, streaming_cycles, update_time


@dataclass(frozen=True)
class StepTime:
    """Where the time of a step goes, on every replica alike."""

    #: all of a step; its parts sum to the total
    step: Cycles
    #: one micro-batch with nothing overlapped: the sum over all IPUs
    micro_batch: Cycles
    #: of which once per step
    update: UpdateTime
    stages: tuple[StageTime, ...]
    pipeline: PipelineTime | None
    phases: tuple[PhaseLoad, ...]
    crossings: tuple[Crossing, ...]
    #: a whole call: all device iterations, transfers with the host and what the call itself costs
    call_cycles: float
    #: from a micro-batch's arrival on the device to its results
    latency_cycles: float
    #: the host's part of it
    call: HostCall
    #: reasons for the parts that no planner costs, by name
    why: Mapping[str, Why] = field(default_factory=dict)


def step_time(
    program: Program,
    costs: Sequence[Cost],
    again: Recomputation,
    deployment: Deployment,
    system: System,
    planner: Planner,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> StepTime:
    """The time of a step of `program` on each replica."""
    pipelined = deployment.execution == "pipelined"
    crossed = crossings(program, pipelined=pipelined)
    stages = _stages(program, costs, again, crossed)
    accumulation = program.loops.gradient_accumulation if program.training else 1
    update = update_time(program, costs, deployment, system, planner)
    why: dict[str, Why] = dict(update.why)
    pipeline: PipelineTime | None = None
    phases: tuple[PhaseLoad, ...] = ()
    copies = _copies(crossed, deployment, system, why, constants, together=pipelined)
    micro_batch = Cycles.sum(stage.work for stage in stages) + copies
    iterations = program.loops.device_iterations
    if pipelined:
        turns = accumulation if program.training else iterations
        pipeline = run_pipeline(stages, turns, copies, deployment.pipeline_schedule)
        body = pipeline.total * (1.0 if program.training else 1.0 / turns)
        latency = pipeline.stages * pipeline.cycle.total
    elif deployment.phased:
        phases = tuple(phase_loads(program, costs, deployment))
        micro_batch = _phased(phases, program, deployment, system, why) + copies
        body, latency = micro_batch * accumulation, micro_batch.total
    else:
        body, latency = micro_batch * accumulation, micro_batch.total
    device = body + update.cycles
    clock = system.chip.clock_hz
    call = _host_call(program, deployment, system, device.total / clock, constants)
    why |= {"host_call": call.overhead_why, "host_transfer": call.why}
    # of one micro-batch; the call's transfers are those of a step
    around = call.overhead_seconds + call.fill_seconds + call.stream_seconds / accumulation
    waiting = max(0.0, call.seconds * clock - device.total * iterations)
    overhead = min(waiting, call.overhead_seconds * clock)
    return StepTime(
        step=device
        + Cycles(host_call=overhead / iterations, host_transfer=(waiting - overhead) / iterations),
        micro_batch=micro_batch,
        update=update,
        stages=tuple(stages),
        pipeline=pipeline,
        phases=phases,
        crossings=tuple(crossed),
        call_cycles=device.total * iterations + waiting,
        latency_cycles=latency + around * clock,
        call=call,
        why=why,
    )


def _stages(
    program: Program, costs: Sequence[Cost], again: Recomputation, crossed: Sequence[Crossing]
) -> list[StageTime]:
    """Work by pipeline stage after differentiation; one for a program that is not a pipeline."""
    last = program.forward_stages - 1
    sums: dict[tuple[int, str], CycleSum] = defaultdict(CycleSum)
    places: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    known: dict[int, tuple[float, float, float]] = {}

    def add(stage: int, part: str, number: int) -> None:
        total = sums[stage, part]
        total.share(known)
        total.add(costs[number])
        places[stage][program.ops[number].ipu] += 1

    for phase, part in ((Phase.FORWARD, "forward"), (Phase.BACKWARD, "backward")):
        for number in program.of_phase(phase):
            add(program.ops[number].stage, part, number)
    for number in again.again:
        add(2 * last - program.ops[number].stage, "recompute", number)
    sent: dict[int, int] = defaultdict(int)
    for each in crossed:
        sent[each.stage] += each.bytes
    home = _backward_stage_of_ipu(program)
    for number in program.of_phase(Phase.ACCUMULATE):
        add(home.get(program.ops[number].ipu, 2 * last), "backward", number)
    return [
        StageTime(
            number=stage,
            ipu=max(places[stage], key=lambda ipu, at=places[stage]: at[ipu]),  # type: ignore[misc]
            phases=tuple(p for p in ("forward", "recompute", "backward") if (stage, p) in sums),
            forward=sums[stage, "forward"].cycles,
            recompute=sums[stage, "recompute"].cycles,
            backward=sums[stage, "backward"].cycles,
            copied_bytes=sent[stage],
        )
        for stage in sorted(places)
    ]


def _backward_stage_of_ipu(program: Program) -> dict[int, int]:
    stages: dict[int, int] = {}
    for number in program.of_phase(Phase.BACKWARD):
        op = program.ops[number]
        stages[op.ipu] = max(stages.get(op.ipu, 0), op.stage)
    return stages


def _copies(
    crossed: Sequence[Crossing],
    deployment: Deployment,
    system: System,
    why: dict[str, Why],
    constants: ScheduleConstants,
    *,
    together: bool,
) -> Cycles:
    """Copies between IPUs: all at once in a pipeline, else one pair of IPUs after the other."""
    between: dict[tuple[int, int], float] = defaultdict(float)
    for each in crossed:
        between[each.source, each.target] += each.bytes
    if not between:
        return Cycles()
    groups = [between] if together else [{pair: size} for pair, size in sorted(between.items())]
    seconds = 0.0
    for group in groups:
        transfer = stage_copies(system, group, deployment.ipus_per_replica, constants=constants)
        seconds += transfer.seconds
        why["inter_ipu"] = transfer.why
    return Cycles(inter_ipu=seconds * system.chip.clock_hz)


def _phased(
    phases: Sequence[PhaseLoad],
    program: Program,
    deployment: Deployment,
    system: System,
    why: dict[str, Why],
) -> Cycles:
    parallel = deployment.execution == "parallel_phased"
    loads = [streaming_cycles(p.loaded_bytes, {}, program, deployment, system, why) for p in phases]
    stores = [streaming_cycles({}, p.stored_bytes, program, deployment, system, why) for p in phases]
    return phased_micro_batch(phases, loads, stores, parallel=parallel)


def _host_call(
    program: Program,
    deployment: Deployment,
    system: System,
    device_seconds: float,
    constants: ScheduleConstants,
) -> HostCall:
    """A call, fed micro-batch by micro-batch; by default training returns the results of the last only."""
    loops = program.loops
    turns = loops.device_iterations * (loops.gradient_accumulation if program.training else 1)
    returned = deployment.returned_share
    if returned is None:
        returned = 1.0 / turns if program.training else 1.0
    each = turns / loops.device_iterations
    call = call_time(
        device_seconds / each,
        sum(program.tensors[n].bytes for n in program.inputs),
        returned * sum(program.tensors[n].bytes for n in program.outputs),
        turns,
        system=system,
        replicas=loops.replicas,
        ipus_per_replica=deployment.ipus_per_replica,
        prefetch_depth=deployment.prefetch_depth,
        overlap=deployment.overlap_io,
        synthetic=deployment.synthetic_data,
        call_seconds=deployment.call_seconds,
        constants=constants,
    )
    # per iteration of the device again, as the call's fields say
    parts = ("device", "stream", "exposed_stream", "link", "exposed_link")
    return replace(call, **{f"{part}_seconds": each * getattr(call, f"{part}_seconds") for part in parts})
