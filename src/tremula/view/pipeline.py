"""The first turns of a pipeline, from the stages of a profile.

In turn c, stage s works on micro-batch c - s if there is one; a turn lasts as long as its busiest IPU, then copies.
It is the schedule's rule drawn out, not a recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tremula.profile import Profile


@dataclass(frozen=True)
class StageWork:
    """A stage at work in a turn; `start` counts from the turn's start."""

    ipu: int
    stage: int
    micro_batch: int
    start: float
    cycles: float


@dataclass(frozen=True)
class Turn:
    """One pipeline cycle."""

    number: int
    start: float
    cycles: float
    work: tuple[StageWork, ...]


def turns(profile: Profile, most: int) -> Iterator[Turn]:
    """The first `most` turns; none without a pipeline."""
    batches = profile.figures.get("pipeline_micro_batches")
    if batches is None or not profile.pipeline_phases:
        return
    stages, count = profile.stages, int(batches.value)
    per_step = profile.figures.get("micro_batches_per_step")
    copies = profile.breakdown.get("inter_ipu", 0.0) / max(1.0, per_step.value if per_step else 1.0)
    start = 0.0
    for number in range(min(most, count + len(stages) - 1)):
        busy: dict[int, float] = {}
        work = []
        for position, stage in enumerate(stages):
            if 0 <= number - position < count:
                stage_start = busy.get(stage.ipu, 0.0)
                cycles = max(0.0, stage.cycles)
                work.append(StageWork(stage.ipu, stage.stage, number - position, stage_start, cycles))
                busy[stage.ipu] = stage_start + cycles
        length = max(busy.values(), default=0.0) + max(0.0, copies)
        yield Turn(number, start, length, tuple(work))
        start += length
