"""The search for the cheapest way to do a convolution: all rewritings x vertices x splits.

Jobs (a rewriting with a vertex) are tried in the order of what they cost at best and left out once that is
more than the best plan found. Temporary bytes are bounded; if nothing fits, the bound is doubled up to four
times the tile's memory and then dropped (PopLibs ConvPlan.cpp). Splits over time are tried only if the fastest
plan does not fit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tremula.invariants import present
from tremula.plan.conv_bounds import grid_of
from tremula.plan.conv_cost import Candidates, evaluate
from tremula.plan.conv_grid import Grid, Target
from tremula.plan.conv_jobs import Job, engine_kinds, least_cycles, vector_kinds
from tremula.plan.conv_shape import ConvShape
from tremula.plan.conv_transforms import Transformed, worthwhile
from tremula.plan.partition import Integers
from tremula.plan.vertices.kind import VertexKind
from tremula.program.dtypes import item_bytes

#: of a job's candidates, those with the best bounds are evaluated first, so that most others need not be
FIRST_BATCH = 512
#: the matrix engine is tried first unless plain vectors may come this close
CLOSE = 4.0


@dataclass(frozen=True)
class Chosen:
    """One candidate of a job."""

    job: Job
    candidates: Candidates
    index: int

    @property
    def cycles(self) -> float:
        """All cycles."""
        return float(self.candidates.cycles[self.index])

    @property
    def bytes(self) -> int:
        """Temporary bytes."""
        return int(self.candidates.bytes[self.index])

    @property
    def splits(self) -> tuple[int, int]:
        """Indices of its field split and of its channel split."""
        elements = self.candidates.elements
        return int(elements.f[self.index]), int(elements.c[self.index])

    @property
    def tiles(self) -> int:
        """Tiles in use."""
        return int(self.candidates.elements.tiles[self.index])

    @property
    def times(self) -> int:
        """Turns of the loop over time."""
        return int(self.candidates.elements.times[self.index])


@dataclass(frozen=True)
class Found:
    """The plan taken, and what was not."""

    best: Chosen
    bound: float
    #: times the bound had to be doubled; None: it was dropped
    relaxed: int | None
    #: the fastest plan that would not fit
    too_big: Chosen | None
    others: tuple[Chosen, ...]
    #: what was not tried, with the least it could have cost
    pruned: tuple[Job, ...]
    tried: int


class Search:
    """The candidates of one convolution, evaluated when they are asked for."""

    def __init__(self, target: Target, shape: ConvShape, partials: str) -> None:
        self.target = target
        self.partials = partials
        self.ways = worthwhile(shape, target.use, target.dtype)
        self.engine_jobs = self._jobs(engine_kinds)
        self.tried = 0
        #: the best plan of each job that was evaluated, within the bound of the last question
        self.seen: dict[Job, Chosen] = {}
        self._grids: dict[tuple[Job, bool], Grid] = {}

    def _jobs(self, kinds: Callable[[Transformed, Target, str], list[VertexKind]]) -> list[Job]:
        target = self.target
        jobs = [
            Job(way, kind, least_cycles(way, kind, target))
            for way in self.ways
            for kind in kinds(way, target, self.partials)
        ]
        return sorted(jobs, key=lambda job: job.least)

    @functools.cached_property
    def vector_jobs(self) -> list[Job]:
        """Jobs without the matrix engine: seldom the best, so made only when they could be."""
        return self._jobs(vector_kinds)

    @property
    def least_of_vectors(self) -> float:
        """What no job without the matrix engine can be below."""
        chip = self.target.chip
        return min(way.shape.macs for way in self.ways) / (16 / item_bytes(self.target.dtype)) / chip.tiles

    def _families(self) -> Iterator[tuple[float, Callable[[], list[Job]]]]:
        """Jobs with the matrix engine and without, each with what none of them can be below."""
        if self.least_of_vectors < CLOSE * self.engine_jobs[0].least:
            yield 0.0, lambda: sorted(self.engine_jobs + self.vector_jobs, key=lambda job: job.least)
        else:
            yield 0.0, lambda: self.engine_jobs
            yield self.least_of_vectors, lambda: self.vector_jobs

    def _grid(self, job: Job, serial: bool, best: Chosen | None, bound: float) -> Grid:
        """The job's candidates that may be better than `best` within `bound`."""
        limit = math.inf if best is None else best.cycles
        known = self._grids.get((job, serial))
        if known is None or known.most_cycles < limit or known.most_bytes < bound:
            known = self._grids[job, serial] = grid_of(job.way, job.kind, self.target, serial, limit, bound)
        return known

    def best(self, bound: float, serial: bool, at_least: float = 0.0) -> Chosen | None:
        """The fastest plan of at most `bound` temporary bytes, and of at least `at_least` cycles.

        With `serial`, splits over time are tried too.
        """
        best: Chosen | None = None
        for least, jobs in self._families():
            if best is not None and least >= best.cycles:
                break
            for job in jobs():
                if best is not None and job.least >= best.cycles:
                    break
                for over_time in (False, True) if serial else (False,):
                    best = self._best_of(job, bound, over_time, at_least, best)
        return best

    def _best_of(
        self, job: Job, bound: float, serial: bool, at_least: float, best: Chosen | None
    ) -> Chosen | None:
        """The best of `best` and the candidates of a job."""
        grid = self._grid(job, serial, best, bound)
        within = np.nonzero(grid.least_bytes <= bound)[0]
        while len(within):
            if best is not None:
                within = within[grid.least_cycles[within] < best.cycles]
            if len(within) > 4 * FIRST_BATCH:
                order = np.argpartition(grid.least_cycles[within], FIRST_BATCH)
                now, within = within[order[:FIRST_BATCH]], within[order[FIRST_BATCH:]]
            else:
                now, within = within, within[:0]
            for found in self._evaluate(grid, now):
                best = self._better(job, found, bound, at_least, best)
        return best

    def _better(
        self, job: Job, found: Candidates, bound: float, at_least: float, best: Chosen | None
    ) -> Chosen | None:
        cycles = np.where((found.bytes <= bound) & (found.cycles >= at_least), found.cycles, np.inf)
        index = int(cycles.argmin())
        if not np.isfinite(cycles[index]):
            return best
        chosen = Chosen(job, found, index)
        if job not in self.seen or chosen.cycles < self.seen[job].cycles:
            self.seen[job] = chosen
        return chosen if best is None or chosen.cycles < best.cycles else best

    def _evaluate(self, grid: Grid, which: Integers) -> list[Candidates]:
        if not len(which):
            return []
        self.tried += len(which)
        found = [evaluate(self.target, grid, which, False)]
        turns = grid.channels.outs_serial[grid.c[which]] > 1
        if turns.any():
            found.append(evaluate(self.target, grid, which[turns], True))
        return found

    def smallest(self) -> Chosen:
        """The plan with the fewest temporary bytes."""
        best: Chosen | None = None
        for job in self.engine_jobs + self.vector_jobs:
            for serial in (False, True):
                grid = self._grid(job, serial, None, math.inf)
                if not len(grid.f) or (best is not None and grid.least_bytes.min() > best.bytes):
                    continue
                few = np.argsort(grid.least_bytes, kind="stable")[:FIRST_BATCH]
                for found in self._evaluate(grid, few):
                    index = int(np.lexsort((found.cycles, found.bytes))[0])
                    if best is None or int(found.bytes[index]) < best.bytes:
                        best = Chosen(job, found, index)
        return present(best, "a plan of a convolution")

    def others(self, taken: Chosen, most: int = 4) -> tuple[Chosen, ...]:
        """The best plan of each other kind of vertex and rewriting that was evaluated."""

        def family(job: Job) -> tuple[str, bool, bool]:
            return job.kind.name, job.way.swap, bool(job.way.expanded or job.way.flattened)

        best: dict[tuple[str, bool, bool], Chosen] = {}
        for job, chosen in self.seen.items():
            known = best.get(family(job))
            if known is None or chosen.cycles < known.cycles:
                best[family(job)] = chosen
        best.pop(family(taken.job), None)
        return tuple(sorted(best.values(), key=lambda chosen: chosen.cycles)[:most])


def search(target: Target, shape: ConvShape, partials: str, proportion: float) -> Found:
    """The cheapest plan whose temporaries take at most `proportion` of a tile's memory."""
    run = Search(target, shape, partials)
    memory = target.chip.tile_memory_bytes
    bound = proportion * memory
    fastest = present(run.best(math.inf, serial=False), "a plan of a convolution")
    relaxed: int | None = 0
    if bound <= 0:
        best: Chosen | None = run.smallest()
    else:
        best, raised = _within(run, bound, fastest), bound
        while best is None and raised < 2 * memory:
            raised *= 2
            relaxed = (relaxed or 0) + 1
            best = _within(run, raised, fastest)
    if best is None:
        # as the vendor's planner does: the fastest plan, of which nobody expects that it fits
        best, relaxed = fastest, None
    evaluated = {job.kind.name for job in run.seen}
    pruned: dict[str, Job] = {}
    for job in run.engine_jobs:
        if job.kind.name not in evaluated:
            pruned.setdefault(job.kind.name, job)
    return Found(
        best,
        bound,
        relaxed,
        fastest if fastest.bytes > bound and fastest is not best else None,
        run.others(best),
        tuple(pruned.values()),
        run.tried,
    )


def _within(run: Search, bound: float, fastest: Chosen) -> Chosen | None:
    """The fastest plan within `bound`: splits over time only if the fastest of all does not fit."""
    if fastest.bytes <= bound:
        return fastest
    run.seen.clear()
    return run.best(bound, serial=True, at_least=fastest.cycles)
