"""The load of each piece of a program: cycles, resident bytes, bytes for the backward pass, and bytes passed on.

Cycles are the planners', exact but for recomputation. Bytes are rough: whether a split fits is for the memory model to
say. Sums over any run of pieces come as matrices, entry [i, j] for pieces i to j - 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.hardware.system import System
from tremula.memory.code import CONTROL_CODE_SHARE, EXCHANGE_CODE_SHARE, VERTEX_STATE_SHARE
from tremula.memory.fit import resident_bytes
from tremula.plan.planner import Planner
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import LASTING, Role
from tremula.program.work import Work
from tremula.schedule.bsp import op_costs
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.links import stage_copies
from tremula.schedule.pipeline import stash_depth
from tremula.schedule.relayout import Relayout
from tremula.study.split.segmented import Segmented

Floats = NDArray[np.float64]

#: bytes from which the time of a copy between IPUs is read off
_PROBE_BYTES = 2**22


@dataclass(frozen=True)
class Shared:
    """A parameter that forward reads in more than one piece."""

    name: str
    bytes: int
    #: pieces that read it, ascending
    pieces: tuple[int, ...]


@dataclass(frozen=True)
class Loads:
    """The pieces of one program, each figure an array by piece."""

    training: bool
    deployment: Deployment
    tiles: int
    #: cycles of the forward and the backward pass, and of what is computed again
    work: Floats
    recomputed: Floats
    #: weights, buffers, optimizer state and accumulators that stay on the chip
    resident: Floats
    #: results that the backward pass reads, for one micro-batch
    activations: Floats
    #: the largest temporaries of an op, on its fullest tile
    temporaries: Floats
    #: bytes that cross if a stage begins with the piece (forward only), and the cycles that a byte takes
    inbound: Floats
    cycles_per_byte: float
    #: by run of pieces, bytes of code and vertex state on a tile; equal ops share them
    code: Floats
    shared: tuple[Shared, ...]

    @property
    def pieces(self) -> int:
        return len(self.work)

    def cycles(self, *, last: bool) -> Floats:
        """By run of pieces, cycles of a stage for one micro-batch; a pipeline's last stage computes nothing again."""
        each = self.work if last else self.work + self.recomputed
        # all copies run at once, so what even the cheapest cut takes is the same for all stages
        copied = self.cycles_per_byte * self.inbound
        copies = np.append(np.maximum(0.0, copied - copied[1:].min(initial=np.inf)), 0.0)
        run: Floats = _sums(each) + copies[:, None]
        return run

    def bytes(self, stage: int, stages: int) -> Floats:
        """By run of pieces, bytes that they need on an IPU as forward stage `stage` of `stages`."""
        inbound = np.append(self.inbound, 0.0)[:, None]
        needed: Floats = _sums(self.resident) + self.tiles * (_maxima(self.temporaries) + self.code)
        if not self.training:
            return needed + 2.0 * inbound
        depth = stash_depth(stage, stages, self.deployment.pipeline_schedule)
        copies = 1 if _computes_again(self.deployment) else 1 + depth
        kept: Floats = needed + copies * _sums(self.activations) + depth * inbound
        return kept


def _computes_again(deployment: Deployment) -> bool:
    return deployment.recompute in ("all", "checkpoints")


def _sums(each: Floats) -> Floats:
    total = np.concatenate(([0.0], np.cumsum(each)))
    return total[None, :] - total[:, None]


def _maxima(each: Floats) -> Floats:
    count = len(each)
    run = np.zeros((count + 1, count + 1))
    for first in range(count):
        run[first, first + 1 :] = np.maximum.accumulate(each[first:])
    return run


def loads_of(
    split: Segmented, deployment: Deployment, system: System, planner: Planner, layout: Relayout
) -> Loads:
    """The weights of all pieces of `split`; `layout` is that of its program."""
    program = split.program
    count = split.pieces
    piece_of_op = _pieces(split, layout)
    costs = op_costs(program, planner).costs
    cycles = np.array([cost.cycles for cost in costs])
    temporary = np.array([float(cost.bytes.temporary) for cost in costs])

    def by_piece(chosen: Phase | NDArray[np.int64]) -> Floats:
        ops = np.array(program.of_phase(chosen) if isinstance(chosen, Phase) else chosen, dtype=np.int64)
        return np.bincount(piece_of_op[ops], weights=cycles[ops], minlength=count).astype(np.float64)

    kept, needed = _kept(program, piece_of_op, count)
    again = program.training and _computes_again(deployment)
    largest = np.zeros(count)
    np.maximum.at(largest, piece_of_op, temporary)
    probe = stage_copies(system, {(0, 1): float(_PROBE_BYTES)}, max(2, deployment.ipus_per_replica))
    return Loads(
        training=program.training,
        deployment=deployment,
        tiles=system.chip.tiles,
        work=by_piece(Phase.FORWARD) + (by_piece(Phase.BACKWARD) + by_piece(Phase.ACCUMULATE)),
        recomputed=by_piece(needed) if again else np.zeros(count),
        resident=_resident(program, layout, piece_of_op, count, deployment),
        activations=kept,
        temporaries=largest,
        inbound=_inbound(program, piece_of_op, count),
        cycles_per_byte=probe.seconds * system.chip.clock_hz / _PROBE_BYTES,
        code=_code(program, piece_of_op, count, planner),
        shared=_shared(program, piece_of_op),
    )


def _pieces(split: Segmented, layout: Relayout) -> NDArray[np.int64]:
    """By op, its piece; ops of accumulation and update go with their parameter."""
    last = split.segments - 1
    segments = np.clip(layout.segments, 0, last)
    pieces: NDArray[np.int64] = split.piece_of_segment()[segments]
    for number, op in enumerate(split.program.ops):
        if op.phase in (Phase.ACCUMULATE, Phase.UPDATE):
            home = int(layout.homes[op.owner]) if op.owner >= 0 else -1
            pieces[number] = pieces[home] if home >= 0 else 0
    return pieces


def _resident(
    program: Program, layout: Relayout, piece_of_op: NDArray[np.int64], count: int, deployment: Deployment
) -> Floats:
    locations = {
        Role.PARAMETER: deployment.weights,
        Role.STATE: deployment.optimizer_state,
        Role.ACCUMULATOR: deployment.accumulators,
    }
    accumulates = program.loops.gradient_accumulation > 1
    found = np.zeros(count)
    for number, tensor in enumerate(program.tensors):
        if tensor.role not in LASTING or tensor.storage != number:
            continue
        if tensor.role is Role.ACCUMULATOR and not accumulates:
            continue
        home = int(layout.homes[number])
        found[piece_of_op[home] if home >= 0 else 0] += resident_bytes(
            tensor.bytes, tensor.elements, locations.get(tensor.role, Location()), program.loops.replicas
        )
    return found


def _kept(program: Program, piece_of_op: NDArray[np.int64], count: int) -> tuple[Floats, NDArray[np.int64]]:
    """By piece, bytes made forward and read backward; and the forward ops that make these, or what they need."""
    ops, tensors = program.ops, program.tensors
    makers: dict[int, list[int]] = defaultdict(list)
    for number in program.of_phase(Phase.FORWARD):
        for made in ops[number].outputs:
            if tensors[tensors[made].storage].producer >= 0:
                makers[tensors[made].storage].append(number)
    read = {
        tensors[t].storage for number in program.of_phase(Phase.BACKWARD) for t in ops[number].inputs
    } & makers.keys()
    kept = np.zeros(count)
    for storage in read:
        kept[piece_of_op[tensors[storage].producer]] += tensors[storage].bytes
    again: set[int] = set()
    waiting = list(read)
    while waiting:
        for number in makers.get(waiting.pop(), ()):
            if number not in again:
                again.add(number)
                waiting += [tensors[t].storage for t in ops[number].inputs]
    return kept, np.array(sorted(again), dtype=np.int64)


def _inbound(program: Program, piece_of_op: NDArray[np.int64], count: int) -> Floats:
    """By piece, the bytes that forward makes before it and reads in it or later."""
    steps = np.zeros(count + 1)
    for storage, pieces in _readers(program, piece_of_op).items():
        tensor, last = program.tensors[storage], max(pieces)
        if tensor.role in LASTING:
            continue
        made = int(piece_of_op[tensor.producer]) if tensor.producer >= 0 else pieces[0]
        if last > made:  # crosses every cut from the one after its maker to its last reader
            steps[made + 1] += tensor.bytes
            steps[last + 1] -= tensor.bytes
    return np.cumsum(steps)[:count]


def _code(program: Program, piece_of_op: NDArray[np.int64], count: int, planner: Planner) -> Floats:
    """Bytes on a tile by run of pieces: equal work counts once in a run."""
    corners = np.zeros((count + 2, count + 2))
    seen: dict[Work, int] = {}
    order = np.argsort(piece_of_op, kind="stable")
    for number in order.tolist():
        piece = int(piece_of_op[number])
        for work in program.ops[number].works:
            before = seen.get(work, -1)
            if before == piece:
                continue
            seen[work] = piece
            sizes = planner.plan(work).bytes
            size = (
                VERTEX_STATE_SHARE * sizes.vertex_state
                + EXCHANGE_CODE_SHARE * sizes.exchange_code
                + CONTROL_CODE_SHARE * sizes.control_code
            )
            # in all runs that begin after the piece that has it already and end after this one
            corners[before + 1, piece + 1] += size
            corners[piece + 1, piece + 1] -= size
    return corners.cumsum(0).cumsum(1)[: count + 1, : count + 1]


def _shared(program: Program, piece_of_op: NDArray[np.int64]) -> tuple[Shared, ...]:
    return tuple(
        Shared(program.tensors[storage].name, program.tensors[storage].bytes, tuple(sorted(set(pieces))))
        for storage, pieces in sorted(_readers(program, piece_of_op).items())
        if len(set(pieces)) > 1 and program.tensors[storage].role is Role.PARAMETER
    )


def _readers(program: Program, piece_of_op: NDArray[np.int64]) -> dict[int, list[int]]:
    """By tensor, the pieces of the forward ops that read it, in the order of the ops."""
    readers: dict[int, list[int]] = defaultdict(list)
    for number in program.of_phase(Phase.FORWARD):
        for operand in program.ops[number].inputs:
            readers[program.tensors[operand].storage].append(int(piece_of_op[number]))
    return readers


def pairs(shared: Iterable[Shared]) -> list[tuple[int, int]]:
    """Pieces that must be on one IPU: the first reader of each shared parameter with each of the others."""
    return sorted({(each.pieces[0], other) for each in shared for other in each.pieces[1:]})
