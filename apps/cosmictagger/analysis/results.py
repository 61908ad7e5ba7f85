"""What is known about a run once it is analysed: figures of each rank, and of all of them together.

Speeds of ranks are added, never averaged: the images per second of a run are the sum of those of its ranks. Times of
steps are pooled only to describe how they are spread, and are called so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cosmictagger.analysis.lines import DAY
from cosmictagger.analysis.runs import Run
from cosmictagger.analysis.timing import MEASURES, Drift, Summary, Timing, drift, timing


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a run, or that a reader must know.

    Attributes:
        code: short and stable.
        severity: `error` if figures or results must not be used as they are, `warning`, or `note`.
        certainty: `certain` or `likely`.
        what: in a sentence.
        evidence: what shows it.
        next: what to do.
    """

    code: str
    severity: str
    what: str
    evidence: tuple[str, ...] = ()
    next: str = ""
    certainty: str = "certain"


@dataclass(frozen=True)
class Images:
    """Images that one update of the weights takes in one rank, and how that is known."""

    per_step: float | None
    how: str


@dataclass(eq=False)
class Result:
    """A run and its figures.

    Attributes:
        timings: of the ranks that have training lines.
        pooled: the steps of all ranks taken together, by measure.
        job: seconds from launch to exit, else from the first record to the last.
        trained: updates of all ranks, the first ones included.
        local_replicas: of the model in each rank.
    """

    run: Run
    images: Images
    timings: list[Timing]
    pooled: dict[str, Summary | None]
    drift: Drift | None
    job: float | None
    job_from: str
    trained: int
    local_replicas: int
    faults: list[Fault] = field(default_factory=list)

    @property
    def ipus(self) -> int:
        """IPUs that the run asked for, or just its ranks if it asked for none."""
        each = setting(self.run, "run.ipus") if self.run.ours and self.run.on_ipu else 1
        return len(self.timings) * self.local_replicas * each

    def speed(self, rank: Timing) -> float | None:
        """Images per second of a rank: from its times, else from what it wrote at its end."""
        if rank.rate is not None and self.images.per_step is not None:
            return rank.rate * self.images.per_step
        return _throughput(rank) if rank.rate is None else None

    def fom(self, rank: Timing) -> float | None:
        """The figure of merit of a rank: what it wrote at its end, else the same from its times."""
        return _throughput(rank) or self.speed(rank)

    @property
    def aggregate(self) -> float | None:
        """Images per second of all ranks together."""
        speeds = [self.speed(each) for each in self.timings]
        return sum(speeds) if speeds and None not in speeds else None  # type: ignore[arg-type]

    @property
    def job_speed(self) -> float | None:
        """Images per second of the whole job."""
        if not self.job or self.images.per_step is None:
            return None
        return self.trained * self.images.per_step / self.job

    @property
    def update_name(self) -> str:
        """What the column that the log calls "Step" is."""
        if not self.run.ours:
            return "optimizer" if self.run.settings else '"Step" column'
        return "device call" if self.run.on_ipu else "whole step"

    @property
    def rest_name(self) -> str:
        """What a training step has beside that column and fetching."""
        return "forward + backward (estimated)" if self.update_name == "optimizer" else "everything else"


def result(run: Run, batch_size: float | None = None) -> Result:
    """Work out a run's figures; faults are found elsewhere."""
    per_call = setting(run, "run.device_iterations") if run.ours else 1
    replicas = _local_replicas(run)
    timings = [timing(rank, per_call) for rank in run.ranks if rank.sessions]
    pooled = {
        name: Summary.of(np.concatenate([each.values[name] for each in timings])) if timings else None
        for name in MEASURES
    }
    images = _images(run, timings, batch_size, replicas, per_call)
    if run.ours and images.per_step and not batch_size:
        micro = setting(run, "run.minibatch_size") * _accumulation(run)
        replicas = max(round(images.per_step / micro), 1)
    sparse = setting(run, "mode.logging_iteration") > per_call
    trained = sum(_trained(each, images, per_call, sparse) for each in timings)
    job, job_from = _job(run)
    return Result(run, images, timings, pooled, drift(run.ranks), job, job_from, trained, replicas)


def setting(run: Run, key: str, default: int = 1) -> int:
    """A number of the configuration, above 0 and not absurd."""
    text = run.settings.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0 else default


def shortened(texts: Iterable[str], most: int = 4) -> tuple[str, ...]:
    """The first few of many pieces of evidence."""
    every = list(texts)
    return (*every[:most], *([f"and {len(every) - most} more"] if len(every) > most else []))


def _accumulation(run: Run) -> int:
    return setting(run, "mode.optimizer.gradient_accumulation")


def _local_replicas(run: Run) -> int:
    """Copies of the model in each rank; the original has one."""
    if not run.ours:
        return 1
    found = [log.local_replicas for log in run.logs if log.local_replicas]
    return found[0] if found else setting(run, "run.replicas")


def _images(
    run: Run, timings: list[Timing], batch_size: float | None, replicas: int, per_call: int
) -> Images:
    if batch_size:
        return Images(batch_size, "--batch-size")
    said = {each for log in run.logs for stream in log.streams.values() for each in stream.events_per_call}
    if len(said) == 1:
        return Images(said.pop() / per_call, "the log's own count of events in a call")
    closed = _from_closing(timings)
    if "run.minibatch_size" in run.settings:
        found = setting(run, "run.minibatch_size", 0) * _accumulation(run) * replicas
        if run.ours and closed and found and round(closed / found) > 1:
            # replicas of a process under poprun are not in its configuration
            return Images(round(closed / found) * found, "the configuration, and replicas from closing lines")
        if found:
            return Images(float(found), "the configuration in the log")
    if closed:
        return Images(float(round(closed)), "closing lines")
    return Images(None, "unknown: no configuration and no closing line in the log; give --batch-size")


def _throughput(rank: Timing) -> float | None:
    """What a rank itself said about its speed, over all its starts."""
    said = [(seconds, speed) for seconds, speed in rank.logged if seconds > 0 and math.isfinite(speed)]
    if not said:
        return None
    return said[0][1] if len(said) == 1 else sum(s * r for s, r in said) / sum(s for s, _ in said)


def _trained(rank: Timing, images: Images, per_call: int, sparse: bool) -> int:
    """Updates of a rank, those included that were not logged."""
    if not sparse:
        return rank.lines * per_call
    if rank.logged and images.per_step:
        return round(
            sum(
                seconds * speed / images.per_step + 2 * per_call
                for seconds, speed in rank.logged
                if speed > 0
            )
        )
    return rank.last - rank.first + 1


def _from_closing(timings: list[Timing]) -> float | None:
    """Images per update, from throughput and times at the end of a rank, where that is a whole number."""
    for rank in timings:
        for (_, throughput), rate in zip(rank.logged, rank.recomputed, strict=True):
            images = throughput / rate if rate and rate > 0 else math.nan
            if 0.5 < images < 1e9 and abs(images - round(images)) < 0.03 * max(round(images), 1):
                return images
    return None


def _job(run: Run) -> tuple[float | None, str]:
    streams = [stream for log in run.logs for stream in log.streams.values() if stream.begin is not None]
    if not streams:
        return None, ""
    begin, end = min(each.begin or 0 for each in streams), max(each.end for each in streams)
    said = [log.launcher for log in run.logs if len(log.launcher) > 1]
    if not said:
        return (end - begin) / 1000, "first record to last"
    # poprun's own lines have no date: the day is that of the records beside them
    launch = begin - (begin - said[0][0][0]) % DAY
    leave = end + (said[0][-1][0] - end) % DAY
    if begin - launch > DAY // 2 or leave - end > DAY // 2:
        return (end - begin) / 1000, "first record to last"
    return (leave - launch) / 1000, "launch to exit"
