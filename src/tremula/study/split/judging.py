"""Judges splits with the full chip model. A split that fits is better than one that does not; then speed counts.

A split is the pieces with which its stages begin, and the IPU of each stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tremula.estimate.estimate import Estimate, estimate
from tremula.hardware.system import System
from tremula.plan.planner import Planner
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Deployment
from tremula.schedule.relayout import Relayout
from tremula.study.split.loads import Loads, loads_of
from tremula.study.split.result import Split, loads_by_ipu
from tremula.study.split.segmented import Segmented

#: share of the time that a cut one module deeper must save
_DEPTH_PRICE = 0.0003
#: what a stage more than there are IPUs counts as, in modules of depth
_EXTRA_STAGE = 10.0
#: how much the device counts by itself: where all wait for the host, every split would be as good
_DEVICE_WEIGHT = 0.1
#: how much more than time a share of missing tile memory weighs while nothing fits
_EXCESS_PRICE = 3.0


@dataclass(frozen=True)
class Judged:
    """A split and its estimate by the full model."""

    begins: tuple[int, ...]
    ipu_of_stage: tuple[int, ...]
    throughput: float
    #: seconds of a call, with a small price for what is not a time
    spent: float
    #: how much too full the fullest tile is, as a share of what would count as fitting
    excess: float
    #: by IPU, cycles of a micro-batch and the share of its fullest tile
    cycles: tuple[float, ...]
    memory: tuple[float, ...]

    @property
    def rank(self) -> tuple[float, float]:
        """The smaller the better."""
        return rank_of(self.excess, self.spent)


def rank_of(excess: float, spent: float) -> tuple[float, float]:
    """What fits comes first; while nothing does, missing memory weighs more than time."""
    return float(excess > 0.0), spent * (1.0 + excess) ** _EXCESS_PRICE


class Judging:
    """Judges splits of one program on one system, each once; `deployment` is that of a pipeline."""

    def __init__(
        self, program: Segmented, deployment: Deployment, system: System, planner: Planner | None = None
    ) -> None:
        self._began = time.perf_counter()
        self._program, self._deployment, self._system = program, deployment, system
        chip = system.chip.with_tiles(system.chip.tiles - deployment.io_tiles)
        self._planner = planner if planner is not None and planner.chip == chip else Planner(chip)
        self._layout = Relayout(program.program, deployment.proportions)
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Judged] = {}
        #: how deep the module is at which a stage would begin, by piece
        self.depth = np.array([0.0, *(float(cut.module.count(".")) for cut in program.cuts), 0.0])

    @property
    def evaluations(self) -> int:
        """Splits judged so far."""
        return len(self._known)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def loads(self) -> Loads:
        """What the pieces of the program weigh."""
        return loads_of(self._program, self._deployment, self._system, self._planner, self._layout)

    def knows(self, begins: tuple[int, ...], ipu_of_stage: tuple[int, ...]) -> bool:
        """Whether this split has been judged."""
        return (begins, ipu_of_stage) in self._known

    def judged(self, begins: tuple[int, ...], ipu_of_stage: tuple[int, ...]) -> Judged:
        """What the full model says."""
        key = (begins, ipu_of_stage)
        if key not in self._known:
            estimate = self._estimate(begins, ipu_of_stage)
            loads = loads_by_ipu(estimate)
            cycles = estimate.device_cycles_per_step * estimate.loops.device_iterations
            device = _DEVICE_WEIGHT * (cycles / estimate.chip.clock_hz)
            # how deep the modules are that stages begin with; a stage back on IPU 0 counts too
            extra = len(ipu_of_stage) - self._deployment.ipus_per_replica
            depth = float(self.depth[list(begins)].sum()) + _EXTRA_STAGE * extra
            self._known[key] = Judged(
                begins=begins,
                ipu_of_stage=ipu_of_stage,
                throughput=estimate.throughput,
                spent=(estimate.seconds_per_call + device) * (1.0 + _DEPTH_PRICE * depth),
                excess=estimate.memory.excess,
                cycles=tuple(load.cycles for load in loads),
                memory=tuple(load.memory_share for load in loads),
            )
        return self._known[key]

    def split(self, found: Judged, why: Callable[[Estimate], str]) -> Split:
        """The split of a judgement, with its estimate and the reason why it was taken."""
        # made again: estimates are large and were not kept
        estimate = self._estimate(found.begins, found.ipu_of_stage)
        modules = [self._program.cuts[piece - 1].module for piece in found.begins]
        return Split(
            begins=tuple(map(StageStart, modules, found.ipu_of_stage[1:])),
            estimate=estimate,
            loads=loads_by_ipu(estimate),
            evaluations=self.evaluations,
            seconds=self.seconds,
            reason=why(estimate),
            dialect=self._program.dialect,
        )

    def _estimate(self, begins: tuple[int, ...], ipu_of_stage: tuple[int, ...]) -> Estimate:
        flat = self._layout.over(self._program.stages(begins), ipu_of_stage)
        return estimate(flat, self._deployment, self._system, planner=self._planner)
