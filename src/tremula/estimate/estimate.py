"""What an IPU system would do with a program: the facade of the chip model.

`estimate` takes a captured program, how it is laid over IPUs and a system, and gives an `Estimate`: time per step
and where it goes, memory per tile, and for every figure the reason. All of it is modelled, nothing measured.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from tremula.estimate.bands import Band, band, op_category
from tremula.estimate.explain import Explanation, explain
from tremula.estimate.pressure import Pressure, under_pressure
from tremula.estimate.summary import summary
from tremula.formatting import plain
from tremula.hardware.chip import Chip
from tremula.hardware.system import System
from tremula.memory.fit import MemoryReport, memory_report
from tremula.module_paths import parts
from tremula.plan.constants import FITTED, Constants
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.op import Phase, SourceLine
from tremula.program.program import Program
from tremula.schedule.bsp import OpCosts, op_costs
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants
from tremula.schedule.deployment import Deployment
from tremula.schedule.placement_check import check_placement
from tremula.schedule.recompute import Recomputation, recomputation
from tremula.schedule.step import StepTime, step_time

#: changes whenever the same program gets other figures
VERSION = "4"


@dataclass(frozen=True, slots=True)
class OpTime:
    """One op, over a whole step of one replica."""

    name: str
    target: str
    #: forward, backward, accumulate or update
    phase: str
    ipu: int
    #: pipeline stage after differentiation
    stage: int
    scope: tuple[str, ...]
    #: dotted path of the user's module
    module: str
    source: SourceLine | None
    #: of one run
    cost: Cost
    #: runs per step; recomputed ones are counted
    runs: int
    cycles: float
    #: of the cycles of all ops of all IPUs
    share: float
    unknown: bool = False
    #: the category of its first work, whose band goes with its cycles
    category: str = "elementwise"

    @property
    def path(self) -> str:
        """The user's modules and the op's name; outside modules, the user's name scopes."""
        around = parts(self.module) if self.module else self.scope
        return "/".join((*around, self.name))


@dataclass(frozen=True)
class Estimate:
    """Modelled figures of a program on a system. Figures are of one replica unless they say otherwise."""

    system: System
    deployment: Deployment
    loops: Loops
    training: bool
    #: samples in a micro-batch
    samples: int
    time: StepTime
    memory: MemoryReport
    program: Program = field(repr=False)
    costs: OpCosts = field(repr=False)
    again: Recomputation = field(repr=False)
    #: the program with smaller plans, if it does not fit with those that its proportions allow. If it fits then,
    #: `program`, `costs` and `time` are of these plans; `memory` is of the program as it is configured
    pressure: Pressure | None = field(default=None, repr=False)
    version: str = VERSION

    @property
    def chip(self) -> Chip:
        """The chip that was modelled."""
        return self.system.chip

    @property
    def micro_batches_per_step(self) -> int:
        """Micro-batches of a replica per step."""
        return self.loops.gradient_accumulation if self.training else 1

    @property
    def cycles_per_step(self) -> float:
        """Cycles per weight update, or per micro-batch of inference; the host's part included."""
        return self.time.step.total

    @property
    def seconds_per_step(self) -> float:
        """Time per weight update, or per micro-batch of inference."""
        return self.cycles_per_step / self.chip.clock_hz

    @property
    def device_cycles_per_step(self) -> float:
        """Cycles per step without waiting for the host."""
        return self.time.step.total - self.time.step.host

    @property
    def cycles_per_call(self) -> float:
        """Cycles of a call from the host: all device iterations."""
        return self.time.call_cycles

    @property
    def seconds_per_call(self) -> float:
        """Time of a call from the host."""
        return self.time.call_cycles / self.chip.clock_hz

    @property
    def latency_seconds(self) -> float:
        """From a micro-batch at the host to its results."""
        return self.time.latency_cycles / self.chip.clock_hz

    @property
    def throughput(self) -> float:
        """Samples per second of all replicas."""
        return self.throughput_per_replica * self.loops.replicas

    @property
    def throughput_per_replica(self) -> float:
        """Samples per second of one replica."""
        per_call = self.samples * self.micro_batches_per_step * self.loops.device_iterations
        return per_call / self.seconds_per_call if self.seconds_per_call else float("inf")

    @property
    def breakdown(self) -> Mapping[str, float]:
        """Cycles of a step by what they go to; they sum to `cycles_per_step`."""
        return self.time.step.parts()

    @property
    def time_band(self) -> Band:
        """How far off times and throughput may be."""
        return band("training" if self.training else "inference")

    @functools.cached_property
    def ops(self) -> tuple[OpTime, ...]:
        """All ops in the order of a step; those that cost nothing are left out."""
        again = frozenset(self.again.again)
        turns = self.micro_batches_per_step
        runs = []
        for number, op in enumerate(self.program.ops):
            count = 1 if op.phase is Phase.UPDATE else turns
            runs.append(count * 2 if number in again else count)
        cycles = [count * cost.cycles for count, cost in zip(runs, self.costs.costs, strict=True)]
        total = sum(cycles) or 1.0
        return tuple(
            OpTime(
                name=op.name,
                target=op.kind,
                phase=op.phase.value,
                ipu=op.ipu,
                stage=op.stage,
                scope=op.scope,
                module=op.module,
                source=op.source,
                cost=cost,
                runs=count,
                cycles=spent,
                share=spent / total,
                unknown=op.unknown or cost.fallback,
                category=op_category(op.works[0]),
            )
            for op, cost, count, spent in zip(self.program.ops, self.costs.costs, runs, cycles, strict=True)
            if op.works
        )

    @property
    def unknown_ops(self) -> tuple[OpTime, ...]:
        """Ops that were costed by the fallback."""
        return tuple(op for op in self.ops if op.unknown)

    @property
    def host_ops(self) -> tuple[str, ...]:
        """Ops that the host does while the device waits; how long that takes is not modelled."""
        return tuple(op.name for op in self.program.ops if op.host)

    @functools.cached_property
    def supersteps(self) -> int:
        """Supersteps of a replica per step, of all its IPUs."""
        return sum(op.runs * sum(step.repeats for step in op.cost.supersteps) for op in self.ops)

    @functools.cached_property
    def tile_balance(self) -> float:
        """Compute cycles of the mean tile over those of the slowest, in all supersteps of a step."""
        mean = slowest = 0.0
        for op in self.ops:
            for step in op.cost.supersteps:
                spent = op.runs * step.repeats * step.compute_cycles
                slowest += spent
                mean += spent * step.balance * min(1.0, step.tiles / self.chip.tiles)
        return mean / slowest if slowest else 1.0

    @functools.cached_property
    def flops_per_step(self) -> float:
        """Floating-point operations of one replica per step, recomputed ones included."""
        return sum(op.runs * op.cost.flops for op in self.ops)

    def explain(self, name: str) -> Explanation:
        """Why a figure (`cycles_per_step`, `throughput`, `memory` ...) or an op costs what it does."""
        return explain(self, name)

    def summary(self) -> str:
        """A few lines of text."""
        return summary(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(plain(self.summary()))}</pre>"


def estimate(
    program: Program,
    deployment: Deployment,
    system: System,
    *,
    constants: Constants = FITTED,
    schedule: ScheduleConstants = FITTED_SCHEDULE,
    planner: Planner | None = None,
) -> Estimate:
    """What `system` would do with `program`.

    Args:
        program: a program; its loops give device iterations, accumulation and replicas.
        deployment: how it is laid over IPUs.
        system: chips, machines and links.
        constants: fitted constants of the planners.
        schedule: those of links, collectives and calls.
        planner: one to go on with, which knows shapes from earlier estimates. It must be of the system's chip.

    Raises:
        Error: the program cannot lie on the system in this way.
    """
    check_placement(program, deployment, system)
    if program.loops.gradient_accumulation == 1:
        program = program.without_accumulation()
    chip = system.chip.with_tiles(system.chip.tiles - deployment.io_tiles)
    if planner is None or planner.chip != chip:
        planner = Planner(chip, constants)
    costs = op_costs(program, planner)
    again = recomputation(program, deployment)
    memory = memory_report(program, costs.costs, again, deployment, system.chip, planner)
    pressure = under_pressure(program, costs, memory, again, deployment, system.chip, planner)
    if pressure is not None and pressure.fits:
        program, costs = pressure.program, pressure.costs
    time = step_time(program, costs.costs, again, deployment, system, planner, schedule)
    return Estimate(
        system=system,
        deployment=deployment,
        loops=program.loops,
        training=program.training,
        samples=program.samples,
        time=time,
        memory=memory,
        program=program,
        costs=costs,
        again=again,
        pressure=pressure,
    )
