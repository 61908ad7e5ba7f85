"""The automatic split: candidates by dynamic programming, judged by the full chip model, then moved cut by cut.

Dynamic programming (cuts.py) has exact cycles and rough memory, so the bound on memory is found by bisection. The best
split then has its cuts moved, one by one, away from the IPU that limits it. Nothing is captured twice.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.hardware.system import System
from tremula.memory.verdict import curve
from tremula.plan.planner import Planner
from tremula.program.stages import fewest_micro_batches, pipeline_stages
from tremula.schedule.deployment import Deployment
from tremula.study.split.cuts import Solution, Stages, by_ipu, kept_together, shortest, smallest
from tremula.study.split.judging import Judged, Judging, rank_of
from tremula.study.split.loads import Loads, pairs
from tremula.study.split.reasons import impossible, reason
from tremula.study.split.result import Split
from tremula.study.split.segmented import Segmented

#: turns of the bisection for the bound on memory
_BISECTIONS = 5
#: how far a cut is moved, in pieces
_REACH = (1, 2, 3, 5)
#: a move is not judged if the programming says that it costs so much time or tile memory
_HOPELESS = 0.03


@dataclass(frozen=True)
class Budget:
    """When a search ends at the latest."""

    evaluations: int = 40
    #: a guard for very large programs: what stops by the clock may differ from run to run
    seconds: float = 60.0


def pipelined(deployment: Deployment, ipus: int, training: bool) -> Deployment:
    """`deployment` as a pipeline over `ipus` IPUs; a new pipeline that trains recomputes all."""
    recompute = deployment.recompute
    if deployment.execution != "pipelined" and recompute == "none" and training:
        recompute = "all"
    return replace(deployment, execution="pipelined", ipus_per_replica=ipus, recompute=recompute)


def find_split(
    program: Segmented,
    ipus: int,
    deployment: Deployment,
    system: System,
    *,
    planner: Planner | None = None,
    budget: Budget | None = None,
) -> Split:
    """The best split of `program`, with its loops, over `ipus` IPUs of a replica that is found within `budget`.

    Each IPU has one stage, and IPU 0 perhaps the last one too. See `pipelined` for what is set in `deployment`.
    """
    judging = Judging(program, pipelined(deployment, ipus, program.program.training), system, planner)
    return _Search(program, ipus, judging, budget or Budget()).result()


def judge(
    program: Segmented,
    begins: Sequence[tuple[str, int]],
    deployment: Deployment,
    system: System,
    *,
    planner: Planner | None = None,
) -> Split:
    """A split that is given, (module, IPU) for each stage after the first, as the same model judges it."""
    places = {cut.module: piece for piece, cut in enumerate(program.cuts, 1)}
    modules, on = [module for module, _ in begins], [0, *(ipu for _, ipu in begins)]
    unknown = [module for module in modules if module not in places]
    if unknown:
        raise Error(
            f"A stage cannot begin at {', '.join(unknown)}: forward must call the module exactly once, and no other "
            "module may begin at the same op. `Segmented.cuts` lists where stages can begin."
        )
    judging = Judging(program, pipelined(deployment, 1 + max(on), program.program.training), system, planner)
    pieces = tuple(places[module] for module in modules)
    return judging.split(judging.judged(pieces, tuple(on)), lambda _: "as it was given")


def _corrections(true: Sequence[float], said: Sequence[float]) -> NDArray[np.float64]:
    return np.array([a / b if b else 1.0 for a, b in zip(true, said, strict=True)])


def _shifted(begins: tuple[int, ...], pieces: int) -> Iterator[tuple[int, ...]]:
    """`begins` with each run of neighbouring cuts moved by a few pieces, as far as no stage becomes empty."""
    for first in range(len(begins)):
        for end in range(first + 1, len(begins) + 1):
            for step in (sign * reach for reach in _REACH for sign in (1, -1)):
                moved = tuple(b + step if first <= k < end else b for k, b in enumerate(begins))
                edges = (0, *moved, pieces)
                if all(a < b for a, b in itertools.pairwise(edges)):
                    yield moved


@dataclass(frozen=True)
class _Search:
    """One search; splits are tuples of the pieces with which their stages begin."""

    program: Segmented
    ipus: int
    judging: Judging
    budget: Budget

    def result(self) -> Split:
        self._check_micro_batches(self.ipus)
        loads = self.judging.loads()
        problems = self._problems(loads)
        by_rank = operator.attrgetter("rank")
        best = [(min(self._candidates(problem), key=by_rank, default=None), problem) for problem in problems]
        starts = sorted(((b, p) for b, p in best if b is not None), key=lambda start: start[0].rank)
        if not starts:
            raise Error(impossible(self.program, loads, self.ipus))
        fits, least = starts[0][0].rank
        close = [start for start in starts if start[0].rank <= (fits, least * (1.0 + _HOPELESS))]
        found = min((self._moved(*start) for start in close), key=by_rank)
        fastest = self._fastest(problems)
        gain = fastest.throughput / found.throughput - 1.0 if fastest is not None and fastest.excess else 0.0
        return self.judging.split(found, lambda estimate: reason(estimate, loads, gain))

    def _problems(self, loads: Loads) -> list[Stages]:
        """With one stage per IPU, and with a last one back on IPU 0."""
        tied = pairs(loads.shared)
        found = []
        for returns in (False, True):
            count = self.ipus + returns
            if count > loads.pieces or (returns and (self.ipus == 1 or not self._enough(count))):
                continue
            load = np.stack([loads.cycles(last=s == count - 1) for s in range(count)])
            memory = np.stack([loads.bytes(s, count) for s in range(count)])
            load = kept_together(load, tied, returns=returns)
            found.append(Stages(load, memory, self.judging.depth, returns))
        return found

    def _candidates(self, problem: Stages) -> Iterator[Judged]:
        """The fastest split, and if it does not fit, others with less memory on the fullest IPU."""
        fast = shortest(problem)
        if fast is None:
            return
        first = self._judge(problem, fast)
        yield first
        small = smallest(problem)
        if first.excess == 0.0 or small is None:
            return
        least = self._judge(problem, small)
        yield least
        low, high = small.memory, fast.memory
        for turn in range(1, _BISECTIONS + 1):
            between = (low + high) / 2.0
            if least.excess:  # nothing fits: take some of all, from the smallest to the fastest
                between = low + (high - low) * turn / (_BISECTIONS + 1)
            found = shortest(problem, between)
            judged = None if found is None else self._judge(problem, found)
            if judged is not None:
                yield judged
            if least.excess:
                continue
            if judged is not None and judged.excess:
                high = between
            else:
                low = between

    def _judge(self, problem: Stages, solution: Solution) -> Judged:
        return self.judging.judged(solution.begins, (*range(self.ipus), *([0] if problem.returns else [])))

    def _fastest(self, problems: Sequence[Stages]) -> Judged | None:
        """The best split without regard to memory."""
        found = [(fast.load, p, fast) for p in problems if (fast := shortest(p)) is not None]
        if not found:
            return None
        _, problem, fast = min(found, key=lambda each: each[0])
        return self._judge(problem, fast)

    def _moved(self, best: Judged, problem: Stages) -> Judged:
        """`best` with its cuts moved as long as that makes it better."""
        for begins in self._neighbours(best, problem):
            if self._spent():
                break
            judged = self.judging.judged(begins, best.ipu_of_stage)
            if judged.rank < best.rank:
                return self._moved(judged, problem)
        return best

    def _neighbours(self, best: Judged, problem: Stages) -> list[tuple[int, ...]]:
        """Splits with some neighbouring cuts moved together, the most promising first.

        What the programming says of them is corrected, IPU by IPU, by what the full model says of `best`.
        """
        right_load = _corrections(best.cycles, by_ipu(problem, problem.load, best.begins))
        right_memory = _corrections(best.memory, by_ipu(problem, problem.memory, best.begins))
        busiest = max(best.cycles)
        found: list[tuple[tuple[float, float], tuple[int, ...]]] = []
        for begins in _shifted(best.begins, problem.pieces):
            load = float(np.max(right_load * by_ipu(problem, problem.load, begins)))
            if not np.isfinite(load) or self.judging.knows(begins, best.ipu_of_stage):
                continue
            fill = float(np.max(right_memory * by_ipu(problem, problem.memory, begins)))
            excess = max(0.0, fill / curve().full - 1.0)
            rank = rank_of(excess, load)
            may_fit = best.excess > 0.0 and excess < _HOPELESS
            if may_fit or rank[1] < (1.0 + _HOPELESS) * rank_of(best.excess, busiest)[1]:
                found.append((rank, begins))
        return [begins for _, begins in sorted(found)]

    def _spent(self) -> bool:
        done, most = self.judging, self.budget
        return done.evaluations >= most.evaluations or done.seconds >= most.seconds

    @property
    def _turns(self) -> int:
        """Micro-batches that go through the pipeline one after the other."""
        flat = self.program.program
        return flat.loops.gradient_accumulation if flat.training else flat.loops.device_iterations

    def _enough(self, forward_stages: int) -> bool:
        return self._turns >= fewest_micro_batches(forward_stages, self.program.program.training)

    def _check_micro_batches(self, forward_stages: int) -> None:
        if self._enough(forward_stages):
            return
        training, dialect = self.program.program.training, self.program.dialect
        needed = pipeline_stages(forward_stages, training)
        setting = dialect.accumulation_setting if training else dialect.iterations_setting
        raise Error(
            f"A pipeline over {forward_stages} IPUs has {needed} stages "
            f"{'with the backward pass ' if training else ''}and needs at least as many micro-batches. Set "
            f"{setting} to {needed} or more; it is {self._turns}."
        )
