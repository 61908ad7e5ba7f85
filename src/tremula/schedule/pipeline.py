"""Pipelines: how long the stages of a replica take for one weight update or one call.

Numbers of stages and cycles follow PopART (transforms/pipeline.cpp, docs on pipelining): training on S
forward stages makes P = 2S - 1 stages, the last forward stage going straight on to its gradients; G
micro-batches take N = 2(P - 1) + (G - (P - 1)) cycles, P - 1 of them to fill and P - 1 to drain. In a cycle
each IPU runs all of its stages, each on another micro-batch; then all copies between IPUs run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.schedule.bsp import Cycles


def pipeline_cycles(stages: int, micro_batches: int) -> int:
    """N: cycles for `micro_batches` of at least as many as there are stages."""
    return 2 * (stages - 1) + (micro_batches - (stages - 1))


def stash_depth(stage: int, forward_stages: int, schedule: str = "grouped") -> int:
    """Micro-batches whose activations forward stage `stage` keeps; 0 where the gradient follows at once.

    Grouped: made in stage s, read in stage P - 1 - s, so P - 1 - 2s + 1 of them. Interleaved schedules run
    the gradient as early as it can be: one per stage that is still ahead.
    """
    ahead = forward_stages - 1 - stage
    if ahead == 0 or schedule == "sequential":
        return 0
    return 2 * ahead + 1 if schedule == "grouped" else ahead + 1


@dataclass(frozen=True)
class StageTime:
    """One pipeline stage: where it runs and for how long, for one micro-batch."""

    number: int
    ipu: int
    #: forward, backward or both
    phases: tuple[str, ...]
    forward: Cycles = Cycles()
    recompute: Cycles = Cycles()
    backward: Cycles = Cycles()
    #: bytes that leave for other IPUs after the stage
    copied_bytes: int = 0

    @property
    def work(self) -> Cycles:
        """All of the stage's work, without copies."""
        return self.forward + self.recompute + self.backward


@dataclass(frozen=True)
class PipelineTime:
    """A pipeline over some micro-batches."""

    stages: int
    cycles: int
    micro_batches: int
    #: one cycle with all stages at work, copies included
    cycle: Cycles
    #: all cycles, fill and drain included
    total: Cycles
    #: mean work of the IPUs in a full cycle over that of the busiest
    balance: float
    #: the IPU that the others wait for
    bottleneck: int


def run_pipeline(
    stages: Sequence[StageTime], micro_batches: int, copies: Cycles, schedule: str = "grouped"
) -> PipelineTime:
    """Time for `micro_batches` through `stages`; `copies` are those of one full cycle."""
    if schedule == "sequential":
        return _one_after_the_other(stages, micro_batches, copies)
    by_ipu = {
        ipu: Cycles.sum(s.work for s in stages if s.ipu == ipu) for ipu in sorted({s.ipu for s in stages})
    }
    bottleneck = max(by_ipu, key=lambda ipu: by_ipu[ipu].total)
    work = by_ipu[bottleneck]
    if schedule == "interleaved":
        work = _alternating(stages, work)
    cycle = work + copies
    idle = _duration(stages, micro_batches, cycle.total, copies.total) - micro_batches * cycle.total
    busy = sum(cycles.total for cycles in by_ipu.values()) / len(by_ipu)
    return PipelineTime(
        stages=len(stages),
        cycles=pipeline_cycles(len(stages), micro_batches),
        micro_batches=micro_batches,
        cycle=cycle,
        total=cycle * micro_batches + Cycles(pipeline_idle=max(0.0, idle)),
        balance=busy / by_ipu[bottleneck].total if by_ipu[bottleneck].total else 1.0,
        bottleneck=bottleneck,
    )


def _duration(stages: Sequence[StageTime], micro_batches: int, full: float, copies: float) -> float:
    """All cycles of a pipeline one by one: in cycle c, stage s has work if 0 <= c - s < micro-batches."""
    count = len(stages)
    total = max(0, micro_batches - count + 1) * full  # in these all stages have work
    filling = range(min(count - 1, micro_batches))
    draining = range(max(count - 1, micro_batches), micro_batches + count - 1)
    between = range(len(filling), draining.start) if micro_batches < count else ()
    for cycle in (*filling, *between, *draining):
        first, last = max(0, cycle - micro_batches + 1), min(cycle, count - 1)
        total += _longest(stages[first : last + 1]) + copies
    return total


def _longest(active: Sequence[StageTime]) -> float:
    """The IPU with most work in a cycle in which these stages have some."""
    by_ipu: dict[int, float] = {}
    for stage in active:
        by_ipu[stage.ipu] = by_ipu.get(stage.ipu, 0.0) + stage.work.total
    return max(by_ipu.values(), default=0.0)


def _alternating(stages: Sequence[StageTime], busiest: Cycles) -> Cycles:
    """Interleaved: in half a cycle even IPUs run forward and odd ones backward, then the other way round."""
    halves = [0.0, 0.0]
    for parity in (0, 1):
        for stage in stages:
            forward, backward = stage.forward.total, (stage.recompute + stage.backward).total
            halves[parity] = max(halves[parity], forward if stage.ipu % 2 == parity else backward)
    waiting = max(0.0, sum(halves) - busiest.total)
    return busiest.with_(pipeline_idle=busiest.pipeline_idle + waiting)


def _one_after_the_other(stages: Sequence[StageTime], micro_batches: int, copies: Cycles) -> PipelineTime:
    """No overlap between stages: each micro-batch passes all of them before the next begins."""
    cycle = Cycles.sum(s.work for s in stages) + copies * max(1, len(stages) - 1)
    ipus = len({s.ipu for s in stages})
    return PipelineTime(
        stages=len(stages),
        cycles=micro_batches * len(stages),
        micro_batches=micro_batches,
        cycle=cycle,
        total=cycle * micro_batches,
        balance=1.0 / ipus,
        bottleneck=max(stages, key=lambda s: s.work.total).ipu,
    )
