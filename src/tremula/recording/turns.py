"""The turns of a step: what the IPUs of a replica do until they meet again, as the schedule has it.

In turn c of a pipeline, stage s works if 0 <= c - s < micro-batches. A turn lasts as long as its busiest IPU, then
all copy. Without a pipeline, or with a sequential one, a turn is a micro-batch and stages follow each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tremula.estimate.estimate import Estimate
from tremula.recording.order import Order, Sequenced
from tremula.recording.segments import OpSegments, Segment, stream
from tremula.schedule.pipeline import PipelineTime


@dataclass(frozen=True)
class Turn:
    """Work as (IPU, steps, micro-batch) in order; `serial`: one after the other, else side by side."""

    work: tuple[tuple[int, Segment, int], ...]
    cycles: float  #: of the turn, copies included
    copies: float = 0.0
    serial: bool = False
    #: stages that work, None: all
    stages: tuple[int, ...] | None = None

    @property
    def steps(self) -> int:
        """Steps of the work."""
        return sum(len(segment) for _, segment, _ in self.work)


class Turns:
    """The turns of a program."""

    def __init__(self, estimate: Estimate, ordered: Order, segments: OpSegments, streaming_node: int) -> None:
        self._estimate = estimate
        self._ordered = ordered
        self._segments = segments
        self._streaming_node = streaming_node
        self._of_stage = {
            stage: segments.of(listed, stage) for stage, listed in ordered.stages.items() if len(listed.ops)
        }
        self._crossed: Mapping[int, tuple[Mapping[int, int], Mapping[int, int]]] = self._crossings()

    def of_step(self, first_micro_batch: int) -> tuple[int, Iterator[Turn]]:
        """How many turns the micro-batches of a step take (of a call, where all of them fill one pipeline), and the
        turns.
        """
        estimate = self._estimate
        pipeline = estimate.time.pipeline
        if pipeline is None:
            count = estimate.micro_batches_per_step
            return count, self._micro_batches(first_micro_batch, count)
        if estimate.deployment.pipeline_schedule == "sequential":
            return pipeline.micro_batches, self._sequential(first_micro_batch, pipeline)
        return pipeline.micro_batches + len(estimate.time.stages) - 1, self._pipelined(
            first_micro_batch, pipeline
        )

    def copied(self, turn: Turn, ipu: int) -> tuple[int, int]:
        """Bytes that come to and leave an IPU with the copies of a turn."""
        stages = self._crossed if turn.stages is None else turn.stages
        both = [self._crossed[stage] for stage in stages if stage in self._crossed]
        return sum(each[0].get(ipu, 0) for each in both), sum(each[1].get(ipu, 0) for each in both)

    def _crossings(self) -> dict[int, tuple[dict[int, int], dict[int, int]]]:
        found: dict[int, tuple[dict[int, int], dict[int, int]]] = defaultdict(
            lambda: (defaultdict(int), defaultdict(int))
        )
        for each in self._estimate.time.crossings:
            found[each.stage][0][each.target] += each.bytes
            found[each.stage][1][each.source] += each.bytes
        return dict(found)

    def _pipelined(self, first: int, pipeline: PipelineTime) -> Iterator[Turn]:
        stages, batches = self._estimate.time.stages, pipeline.micro_batches
        full, copies = pipeline.cycle.total, pipeline.cycle.inter_ipu
        for number in range(batches + len(stages) - 1):
            active = [(at, stage) for at, stage in enumerate(stages) if 0 <= number - at < batches]
            by_ipu: dict[int, float] = defaultdict(float)
            for _, stage in active:
                by_ipu[stage.ipu] += stage.work.total
            work = tuple(
                (stage.ipu, self._of_stage[stage.number], first + number - at)
                for at, stage in active
                if stage.number in self._of_stage
            )
            cycles = full if len(active) == len(stages) else max(by_ipu.values(), default=0.0) + copies
            yield Turn(work, cycles, copies, stages=tuple(stage.number for _, stage in active))

    def _sequential(self, first: int, pipeline: PipelineTime) -> Iterator[Turn]:
        stages = [each for each in self._estimate.time.stages if each.number in self._of_stage]
        for number in range(pipeline.micro_batches):
            work = tuple((each.ipu, self._of_stage[each.number], first + number) for each in stages)
            yield Turn(work, pipeline.cycle.total, pipeline.cycle.inter_ipu, serial=True)

    def _micro_batches(self, first: int, batches: int) -> Iterator[Turn]:
        time, phased = self._estimate.time.micro_batch, self._estimate.deployment.phased
        work = self._by_ipu(phased)
        if time.streaming:
            moved = stream(time.streaming, self._streaming_node, self._estimate.chip.tiles, 0, 0)
            work += [(ipu.ipu, moved) for ipu in self._estimate.memory.ipus]
        for number in range(batches):
            listed = tuple((ipu, segment, first + number) for ipu, segment in work)
            yield Turn(listed, time.total, time.inter_ipu, serial=not phased)

    def _by_ipu(self, together: bool) -> list[tuple[int, Segment]]:
        """The work of a micro-batch that is not a pipeline: cut where it changes IPUs, or all of an IPU `together`."""
        listed = [(stage, each) for stage, each in self._ordered.stages.items() if len(each.ops)]
        if not listed:
            return []
        ops = np.concatenate([each.ops for _, each in listed])
        again = np.concatenate([each.again for _, each in listed])
        stages = np.concatenate([np.full(len(each.ops), stage) for stage, each in listed])
        ipus = np.array([self._estimate.program.ops[number].ipu for number in ops.tolist()], dtype=np.int64)
        if together:
            groups = [np.flatnonzero(ipus == ipu) for ipu in np.unique(ipus)]
        else:
            groups = np.split(
                np.arange(len(ops)), np.flatnonzero((np.diff(ipus) != 0) | (np.diff(stages) != 0)) + 1
            )
        return [
            (
                int(ipus[group[0]]),
                self._segments.of(Sequenced(ops[group], again[group]), int(stages[group[0]])),
            )
            for group in groups
        ]
