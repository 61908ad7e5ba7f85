"""Execution steps of an IPU, put together from pieces that are used again in every turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.profile.program_types import ProgramType
from tremula.recording.operations import Operations
from tremula.recording.order import Sequenced
from tremula.recording.programs import Programs
from tremula.recording.shapes import Shapes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: columns of whole numbers of a segment
INTEGERS = ("type", "program", "op_id", "compute_set", "active_tiles", "bytes_in", "bytes_out", "stage")
#: waits that are shorter are not there: they are rounding
_LEAST_CYCLES = 0.5


@dataclass(frozen=True)
class Segment:
    """Steps that follow each other."""

    integers: Ints  #: one row for each of `INTEGERS`
    cycles: Floats
    mean_tile_cycles: Floats

    def __len__(self) -> int:
        return len(self.cycles)

    @property
    def total(self) -> float:
        """Cycles of all steps."""
        return float(self.cycles.sum())

    def scaled(self, factor: float) -> Segment:
        """The same in another time."""
        return replace(self, cycles=self.cycles * factor, mean_tile_cycles=self.mean_tile_cycles * factor)

    def with_cycles(self, wanted: Mapping[ProgramType, float]) -> Segment:
        """The same steps, where those of each type in `wanted` take this many cycles together."""
        cycles, means = self.cycles.copy(), self.mean_tile_cycles.copy()
        for kind, total in wanted.items():
            mine = self.integers[0] == kind
            now = float(cycles[mine].sum())
            if now > 0:
                cycles[mine] *= total / now
                means[mine] *= total / now
        return replace(self, cycles=cycles, mean_tile_cycles=means)

    def by_type(self) -> dict[int, tuple[float, float]]:
        """Cycles, and those of the mean tile, by type."""
        types = self.integers[0]
        return {
            int(each): (
                float(self.cycles[types == each].sum()),
                float(self.mean_tile_cycles[types == each].sum()),
            )
            for each in np.unique(types)
        }


def one(
    type: ProgramType,
    cycles: float,
    *,
    program: int = -1,
    tiles: int = 0,
    bytes_in: int = 0,
    bytes_out: int = 0,
    mean: float = 0.0,
    stage: int = -1,
) -> Segment:
    """A single step."""
    integers = np.array(
        [[type], [program], [-1], [-1], [tiles], [bytes_in], [bytes_out], [stage]], dtype=np.int64
    )
    return Segment(integers, np.array([cycles]), np.array([mean]))


def stream(cycles: float, program: int, tiles: int, bytes_in: int, bytes_out: int) -> Segment:
    """A copy from or to the host in three steps; all of its time is in the middle one."""
    types = (ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd)
    integers = np.array(
        [
            types, [program + n if program >= 0 else -1 for n in range(3)], [-1] * 3, [-1] * 3, [tiles] * 3,
            [0, bytes_in, 0], [0, bytes_out, 0], [-1] * 3,
        ],
        dtype=np.int64,
    )  # fmt: skip
    return Segment(integers, np.array([0.0, cycles, 0.0]), np.zeros(3))


class OpSegments:
    """Makes the steps of ops out of the leaves of their plans."""

    def __init__(self, found: Operations, shaped: Shapes, programs: Programs) -> None:
        self._shaped = shaped
        self._programs = programs
        self._rows = np.array(found.rows, dtype=np.int64)
        self._plans = np.array(found.cost_of, dtype=np.int64)

    def of(self, listed: Sequenced, stage: int) -> Segment:
        """The steps of ops that run one after the other in a stage."""
        shaped, programs = self._shaped, self._programs
        plans = self._plans[listed.ops]
        leaves, owner = shaped.leaves(plans)
        node = np.where(listed.again, programs.node_again[listed.ops], programs.node[listed.ops])[owner]
        if programs.leaves:
            node = node + 1 + leaves - shaped.first[plans][owner]
        rows = self._rows[listed.ops][owner]
        first, within = programs.first_set[rows], shaped.compute_set[leaves]
        sets = np.where((first >= 0) & (within >= 0), first + within, -1)
        none = np.zeros(len(leaves), dtype=np.int64)
        integers = np.stack(
            [shaped.type[leaves], node, rows, sets, shaped.active_tiles[leaves], none, none, none + stage]
        )
        return Segment(integers, shaped.cycles[leaves], shaped.mean_tile_cycles[leaves])


@dataclass(frozen=True)
class LaneColumns:
    """The steps of one IPU in a run, with whole cycles."""

    integers: Ints
    start: Ints
    cycles: Ints
    mean_tile_cycles: Floats
    micro_batch: Ints


class Lane:
    """The steps of one IPU, in the order in which they are added."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._segments: list[Segment] = []
        self._micro_batches: list[int] = []

    def add(self, segment: Segment, micro_batch: int = -1) -> None:
        """More steps."""
        if len(segment):
            self._segments.append(segment)
            self._micro_batches.append(micro_batch)
            self.steps += len(segment)
            self.now += segment.total

    def wait_until(self, time: float, program: int = -1) -> None:
        """Wait for the others."""
        if time - self.now >= _LEAST_CYCLES:
            self.add(one(ProgramType.Sync, time - self.now, program=program))
            self.now = time

    def columns(self, total: int) -> LaneColumns:
        """All steps; they last `total` cycles."""
        integers = np.concatenate([each.integers for each in self._segments], axis=1)
        floats = np.concatenate([each.cycles for each in self._segments])
        ends = np.minimum(np.rint(np.cumsum(floats)).astype(np.int64), total)
        ends[-1] = total
        start = np.concatenate([[0], ends[:-1]])
        means = np.concatenate([each.mean_tile_cycles for each in self._segments])
        lengths = [len(each) for each in self._segments]
        return LaneColumns(
            integers,
            start,
            ends - start,
            np.round(means, 3),
            np.repeat(np.array(self._micro_batches), lengths),
        )
