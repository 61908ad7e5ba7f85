"""The execution steps of one run: a call from the host, laid out IPU by IPU as the schedule has it.

Turns beyond a bound are added up, one step of each kind for each IPU, so that the cycles of a lane still sum to those
of the run; the run says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tremula.estimate.estimate import Estimate
from tremula.profile.program_types import ProgramType
from tremula.recording.order import Order, Sequenced
from tremula.recording.programs import Programs
from tremula.recording.segments import Lane, OpSegments, Segment, one, stream
from tremula.recording.turns import Turn, Turns

#: how much longer than the modelled time a lane may be before its steps are scaled: rounding
_TOLERANCE = 1e-6
_SCALED = "ops that overlap or are shared by replicas are shortened to fit the modelled time"

#: IPU -> type -> cycles, and those of the mean tile
_Sums = dict[int, dict[int, list[float]]]


class RunLayout:
    """Lays out a run within `most_steps` steps of all IPUs together."""

    def __init__(
        self, estimate: Estimate, ordered: Order, programs: Programs, segments: OpSegments, most_steps: int
    ) -> None:
        self._estimate = estimate
        self._programs = programs
        self._most = most_steps
        self._tiles = estimate.chip.tiles
        self.lanes = {ipu.ipu: Lane() for ipu in estimate.memory.ipus}
        self.notes: list[str] = []
        self._turns = Turns(estimate, ordered, segments, self._node("streaming"))
        self._update = self._update_segments(ordered.update, segments)
        self._by_type: dict[int, dict[int, tuple[float, float]]] = {}

    def lay_out(self) -> None:
        """All steps of a call."""
        estimate = self._estimate
        iterations, step = estimate.loops.device_iterations, estimate.time.step
        # the micro-batches of inference in a pipeline all follow each other in one
        together = iterations if estimate.time.pipeline is not None and not estimate.training else 1
        bodies = iterations // together
        length = estimate.cycles_per_call / bodies
        cycles = together * (step.total - step.host - estimate.time.update.cycles.total)
        used = 0
        for number in range(bodies):
            before = self.steps
            if number and before + used > self._most:
                self._rest_of_call(bodies - number)
                break
            share = self._input_share()
            self._host("inputs", together * step.host_transfer * share)
            self._body(number * together * estimate.micro_batches_per_step, cycles)
            self._after_body()
            if step.host_call:
                self._everywhere(one(ProgramType.Sync, together * step.host_call, program=self._node("call")))
            self._host("outputs", together * step.host_transfer * (1 - share))
            self._meet((number + 1) * length)
            used = self.steps - before

    @property
    def steps(self) -> int:
        """Steps so far, of all IPUs."""
        return sum(lane.steps for lane in self.lanes.values())

    # -- parts of a step ---------------------------------------------------------------------------------

    def _body(self, first_micro_batch: int, cycles: float) -> None:
        end = self._now() + cycles
        count, turns = self._turns.of_step(first_micro_batch)
        reserve = sum(len(each) for each in self._update.values()) + 16 * len(self.lanes)
        for number, turn in enumerate(turns):
            if number and self.steps + turn.steps + 2 * len(self.lanes) + reserve > self._most:
                self._rest_of_turns(turn, turns, end)
                self._note(
                    f"turns {number + 1:,} to {count:,} are added up, one step of each kind for each IPU"
                )
                break
            self._add_turn(turn)
        self._meet(end)

    def _add_turn(self, turn: Turn) -> None:
        start = self._now()
        self._meet(start)
        room = turn.cycles - turn.copies
        for ipu, segment, micro_batch in turn.work:
            if turn.serial:
                self._meet(self._now())
            lane = self.lanes[ipu]
            lane.add(self._fitting(segment, start + room - lane.now), micro_batch)
        self._meet(start + room)
        if turn.copies:
            for ipu, lane in self.lanes.items():
                come, leave = self._turns.copied(turn, ipu)
                lane.add(
                    one(
                        ProgramType.GlobalExchange, turn.copies, program=self._node("copy"), tiles=self._tiles,
                        bytes_in=come, bytes_out=leave,
                    )
                )  # fmt: skip

    def _fitting(self, segment: Segment, room: float) -> Segment:
        if segment.total <= room * (1 + _TOLERANCE) + 1:
            return segment
        self._note(_SCALED)
        return segment.scaled(max(0.0, room) / segment.total)

    def _after_body(self) -> None:
        """The update: arithmetic side by side, then collectives and traffic with streaming memory."""
        update = self._estimate.time.update
        start = self._now()
        for ipu, segment in self._update.items():
            self.lanes[ipu].add(segment)
        self._meet(start + update.arithmetic.total)
        if update.exchange.total:
            self._everywhere(
                one(
                    ProgramType.GlobalExchange, update.exchange.total, program=self._node("collective"),
                    tiles=self._tiles, bytes_in=update.reduced_bytes, bytes_out=update.reduced_bytes,
                )
            )  # fmt: skip
        if update.streaming.total:
            moved = update.streamed_bytes
            self._everywhere(
                stream(update.streaming.total, self._node("streaming"), self._tiles, moved, moved)
            )

    def _update_segments(self, listed: Sequenced, segments: OpSegments) -> dict[int, Segment]:
        """The ops of the update on each IPU; in the time of a replica's share if its state is shared out."""
        ops = self._estimate.program.ops
        ipus = np.array([ops[number].ipu for number in listed.ops.tolist()], dtype=np.int64)
        found = {
            int(ipu): segments.of(Sequenced(listed.ops[ipus == ipu], listed.again[ipus == ipu]), -1)
            for ipu in np.unique(ipus)
        }
        arithmetic = self._estimate.time.update.arithmetic
        slowest = max(found, key=lambda ipu: found[ipu].total, default=-1)
        if slowest < 0 or found[slowest].total <= arithmetic.total * (1 + _TOLERANCE) + 1:
            return found
        self._note(_SCALED)
        factor = arithmetic.total / found[slowest].total
        shortened = {ipu: each.scaled(factor) for ipu, each in found.items()}
        # a share of the elements needs less arithmetic but as many syncs, so each kind has a factor of its own
        shortened[slowest] = found[slowest].with_cycles(
            {
                ProgramType.OnTileExecute: arithmetic.compute,
                ProgramType.DoExchange: arithmetic.exchange,
                ProgramType.Sync: arithmetic.sync,
            }
        )
        return shortened

    def _host(self, what: str, cycles: float) -> None:
        node = self._node(what)
        if node < 0:
            return
        program = self._estimate.program
        sizes: dict[int, int] = defaultdict(int)
        for number in program.inputs if what == "inputs" else program.outputs:
            sizes[program.tensors[number].ipu] += program.tensors[number].bytes
        for ipu, lane in self.lanes.items():
            size = sizes[ipu] * self._estimate.micro_batches_per_step
            lane.add(stream(cycles, node, self._tiles, *((size, 0) if what == "inputs" else (0, size))))

    def _input_share(self) -> float:
        """Inputs over all bytes that go between host and device."""
        program = self._estimate.program
        sent, fetched = program.bytes_of(program.inputs), program.bytes_of(program.outputs)
        return sent / (sent + fetched) if sent + fetched else 1.0

    # -- what is beyond the bound --------------------------------------------------------------------------

    def _rest_of_turns(self, first: Turn, others: Iterator[Turn], end: float) -> None:
        """The turn `first` and all after it as one step of each kind on every IPU."""
        sums = self._no_sums()
        for turn in (first, *others):
            for ipu, segment, _ in turn.work:
                self._count(sums, ipu, segment)
            for ipu in self.lanes:
                sums[ipu][ProgramType.GlobalExchange][0] += turn.copies
        self._add_sums(sums, end, self._programs.loop)

    def _rest_of_call(self, bodies: int) -> None:
        """Device iterations that are like the ones before, as one step of each kind on every IPU."""
        step = self._estimate.time.step
        sums = self._no_sums()
        for turn in self._turns.of_step(0)[1]:
            for ipu, segment, _ in turn.work:
                self._count(sums, ipu, segment, bodies)
        for ipu, segment in self._update.items():
            self._count(sums, ipu, segment, bodies)
        for ipu in self.lanes:
            sums[ipu][ProgramType.GlobalExchange][0] += bodies * (step.inter_ipu + step.collectives)
            sums[ipu][ProgramType.StreamCopyMid][0] += bodies * (step.streaming + step.host_transfer)
        self._add_sums(sums, self._estimate.cycles_per_call, self._programs.main)
        self._note(f"the last {bodies:,} device iterations are added up, one step of each kind for each IPU")

    def _no_sums(self) -> _Sums:
        return {ipu: defaultdict(lambda: [0.0, 0.0]) for ipu in self.lanes}

    def _count(self, sums: _Sums, ipu: int, segment: Segment, times: int = 1) -> None:
        if id(segment) not in self._by_type:
            self._by_type[id(segment)] = segment.by_type()
        for kind, (cycles, mean) in self._by_type[id(segment)].items():
            sums[ipu][kind][0] += times * cycles
            sums[ipu][kind][1] += times * mean

    def _add_sums(self, sums: _Sums, end: float, program: int) -> None:
        for ipu, lane in self.lanes.items():
            counted = {
                kind: each for kind, each in sums[ipu].items() if kind != ProgramType.Sync and each[0] > 0
            }
            total = sum(cycles for cycles, _ in counted.values())
            factor = min(1.0, (end - lane.now) / total) if total else 1.0
            for kind, (cycles, mean) in sorted(counted.items()):
                step = one(
                    ProgramType(kind), cycles * factor, program=program, tiles=self._tiles, mean=mean * factor
                )
                lane.add(step)
            lane.wait_until(end, program)  # what ops wait for each other is here as well

    # -- lanes -------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return max(lane.now for lane in self.lanes.values())

    def _everywhere(self, segment: Segment) -> None:
        for lane in self.lanes.values():
            lane.add(segment)

    def _meet(self, time: float) -> None:
        for lane in self.lanes.values():
            lane.wait_until(time, self._programs.loop)

    def _node(self, kind: str) -> int:
        return self._programs.transfers.get(kind, -1)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
