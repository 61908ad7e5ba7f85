"""What happens once per weight update: gradients reduced over replicas, the optimizer's arithmetic, its state.

Every replica holds the same weights. Their gradients are summed over replicas once per step, in the type that
they are accumulated in. With replicated tensor sharding each replica keeps a part of the optimizer's state:
gradients are reduced and scattered, the arithmetic is done on that part, the new weights are gathered. State in
streaming memory is read before and written after. Source: PopART's documentation of replicated tensor sharding.
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
from tremula.program.tensor import Role, Tensor
from tremula.program.work import Cast, Copy, Elementwise, Fill, Random, Reduction, Unknown, Work
from tremula.schedule.bsp import Cycles, CycleSum
from tremula.schedule.collectives import all_gather, all_reduce, reduce_scatter
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.streaming import traffic


@dataclass(frozen=True)
class UpdateTime:
    """The part of a training step that runs once."""

    #: the optimizer's arithmetic on the busiest IPU
    arithmetic: Cycles = Cycles()
    #: collectives between replicas
    exchange: Cycles = Cycles()
    #: traffic with streaming memory
    streaming: Cycles = Cycles()
    #: bytes of gradients that each replica gives to collectives, and of state that it reads and writes back
    reduced_bytes: int = 0
    streamed_bytes: int = 0
    why: Mapping[str, Why] = field(default_factory=dict)

    @property
    def cycles(self) -> Cycles:
        """All of it."""
        return self.arithmetic + self.exchange + self.streaming


def update_time(
    program: Program,
    costs: Sequence[Cost],
    deployment: Deployment,
    system: System,
    planner: Planner,
) -> UpdateTime:
    """The once-per-step part of `program`; nothing for inference."""
    if not program.training:
        return UpdateTime()
    why: dict[str, Why] = {}
    exchange, reduced = _gradient_exchange(program, deployment, system, why)
    streaming, streamed = _state_traffic(program, deployment, system, why)
    return UpdateTime(
        arithmetic=_arithmetic(program, costs, deployment, planner),
        exchange=Cycles(collectives=exchange),
        streaming=Cycles(streaming=streaming),
        reduced_bytes=reduced,
        streamed_bytes=streamed,
        why=why,
    )


def is_sharded(tensor: Tensor, location: Location, replicas: int) -> bool:
    """Whether each replica keeps only a part of `tensor`."""
    return location.sharded and replicas > 1 and tensor.elements >= location.smallest_elements


def _arithmetic(program: Program, costs: Sequence[Cost], deployment: Deployment, planner: Planner) -> Cycles:
    sums: dict[int, CycleSum] = defaultdict(CycleSum)
    replicas = program.loops.replicas
    for number in program.of_phase(Phase.UPDATE):
        op = program.ops[number]
        cost = costs[number]
        largest = max((*op.inputs, *op.outputs), key=lambda n: program.tensors[n].elements, default=None)
        if largest is not None and is_sharded(program.tensors[largest], deployment.optimizer_state, replicas):
            for work in op.works:
                sums[op.ipu].add(planner.plan(part_of(work, replicas)))
        else:
            sums[op.ipu].add(cost)
    return max((each.cycles for each in sums.values()), key=lambda c: c.total, default=Cycles())


def part_of(work: Work, replicas: int) -> Work:
    """The share of one replica in `work` of an update."""
    if isinstance(work, Elementwise | Cast | Fill | Random | Copy):
        return replace(work, elements=-(-work.elements // replicas))
    if isinstance(work, Reduction):
        return replace(work, reduced=-(-work.reduced // replicas))
    if isinstance(work, Unknown):
        return replace(
            work,
            read_elements=-(-work.read_elements // replicas),
            written_elements=-(-work.written_elements // replicas),
        )
    return work


def _gradient_exchange(
    program: Program,
    deployment: Deployment,
    system: System,
    why: dict[str, Why],
) -> tuple[float, int]:
    """Cycles of the collectives of one step, and the bytes that each replica gives to them."""
    replicas = program.loops.replicas
    if replicas == 1:
        return 0.0, 0
    reduced: dict[int, int] = defaultdict(int)
    scattered: dict[int, int] = defaultdict(int)
    gathered: dict[int, int] = defaultdict(int)
    for parameter, carrier in zip(program.trained, program.carried, strict=True):
        weight, carried = program.tensors[parameter], program.tensors[carrier]
        if is_sharded(weight, deployment.optimizer_state, replicas):
            scattered[weight.ipu] += carried.bytes
            gathered[weight.ipu] += weight.bytes
        else:
            reduced[weight.ipu] += carried.bytes
    seconds = 0.0
    for name, collective, sizes in (
        ("all-reduce", all_reduce, reduced),
        ("reduce-scatter", reduce_scatter, scattered),
        ("all-gather", all_gather, gathered),
    ):
        total = sum(sizes.values())
        if total:
            share = max(sizes.values()) / total
            done = collective(
                system,
                total,
                replicas,
                deployment.ipus_per_replica,
                fullest_share=share,
            )
            seconds += done.seconds
            why[f"collectives: {name}"] = done.why
    return seconds * system.chip.clock_hz, sum(reduced.values()) + sum(scattered.values())


def _state_traffic(
    program: Program, deployment: Deployment, system: System, why: dict[str, Why]
) -> tuple[float, int]:
    """Cycles to read and write what lives in streaming memory, and its bytes, one way."""
    sizes: dict[int, int] = defaultdict(int)
    locations = {Role.STATE: deployment.optimizer_state, Role.ACCUMULATOR: deployment.accumulators}
    turns = {Role.STATE: 1, Role.ACCUMULATOR: program.loops.gradient_accumulation}
    for number, tensor in enumerate(program.tensors):
        location = locations.get(tensor.role)
        if location is None or location.on_chip or tensor.storage != number:
            continue
        if tensor.elements >= location.smallest_elements:
            share = program.loops.replicas if location.sharded else 1
            sizes[tensor.ipu] += turns[tensor.role] * -(-tensor.bytes // share)
    total = sum(sizes.values())
    return streaming_cycles(sizes, sizes, program, deployment, system, why), total


def streaming_cycles(
    read: Mapping[int, int],
    written: Mapping[int, int],
    program: Program,
    deployment: Deployment,
    system: System,
    why: dict[str, Why],
) -> float:
    """Cycles for all replicas to read and write so many bytes of streaming memory, given by IPU."""
    moved = {ipu: read.get(ipu, 0) + written.get(ipu, 0) for ipu in {*read, *written}}
    total = sum(moved.values())
    if not total:
        return 0.0
    done = traffic(
        system,
        sum(read.values()),
        sum(written.values()),
        replicas=program.loops.replicas,
        ipus_per_replica=deployment.ipus_per_replica,
        fullest_share=max(moved.values()) / total,
    )
    why["streaming"] = done.why
    return done.seconds * system.chip.clock_hz
