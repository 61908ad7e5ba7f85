"""Which tensors are in memory at each moment of a step, IPU by IPU.

The ops of a step are put in the order in which the device runs them: forward, then backward with
recomputed ops just before the gradient that first needs them, accumulation right after its gradient, the
update last (without accumulation: as soon as it can). A tensor lives from the op that makes it to the last
op that reads it; views live in the tensor they show; an element-wise op writes over an operand that nobody
reads afterwards. In a pipeline the forward and the backward pass of one IPU work on different micro-batches:
what the backward pass needs goes through stashes, which are always live.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.plan.cost import Cost
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import LASTING, Role
from tremula.program.work import Cast, Elementwise, Random
from tremula.schedule.deployment import Deployment
from tremula.schedule.pipeline import stash_depth
from tremula.schedule.recompute import Recomputation

_OVERWRITING = (Elementwise, Cast, Random)


@dataclass(slots=True)
class Lifetime:
    """A storage on one IPU, from the position of the op that makes it to that of the last that reads it."""

    storage: int
    ipu: int
    first: int
    last: int
    bytes: int


@dataclass(frozen=True)
class Event:
    """One run of an op at a position of the step."""

    op: int
    again: bool = False


@dataclass(frozen=True)
class Liveness:
    """A step in the device's order, with what is alive when."""

    events: list[Event]
    lifetimes: list[Lifetime]
    #: IPU -> storage -> bytes held for the whole step beside the tensors that last from step to step
    stashes: dict[int, dict[int, int]]
    #: IPU -> bytes of activations alive at each position
    live: dict[int, NDArray[np.int64]]
    #: IPU -> bytes of temporaries on the fullest tile at each position
    temporary: dict[int, NDArray[np.int64]]

    def alive_at(self, ipu: int, position: int) -> Iterator[Lifetime]:
        """The storages that are in memory of `ipu` at `position`."""
        for each in self.lifetimes:
            if each.ipu == ipu and each.first <= position <= each.last:
                yield each


def liveness(
    program: Program, costs: Sequence[Cost], again: Recomputation, deployment: Deployment
) -> Liveness:
    """Lifetimes of all tensors of a step of `program`."""
    return _Walk(program, costs, again, deployment).result()


class _Walk:
    """One pass over the ops in the device's order."""

    def __init__(
        self, program: Program, costs: Sequence[Cost], again: Recomputation, deployment: Deployment
    ) -> None:
        self._program = program
        self._costs = costs
        self._again = frozenset(again.again)
        self._deployment = deployment
        self._pipelined = deployment.execution == "pipelined" and deployment.pipeline_schedule != "sequential"
        self._last_stage = program.forward_stages - 1
        self._events: list[Event] = []
        #: (storage, version) -> lifetime; 0: of the forward pass, 1: computed again, 2 and up: of the backward
        #: pass of a stage, out of a stash or from another IPU
        self._alive: dict[tuple[int, int, int], Lifetime] = {}
        #: ops that run again, by the storage that they write
        self._makers_again: dict[int, list[int]] = defaultdict(list)
        for number in again.again:
            for made in program.ops[number].outputs:
                self._makers_again[program.tensors[made].storage].append(number)
        self._stashes: dict[int, dict[int, int]] = defaultdict(dict)
        self._stage_ipu = {op.stage: op.ipu for op in program.ops if op.phase is Phase.FORWARD}
        self._saved = frozenset(again.saved)

    def result(self) -> Liveness:
        if self._pipelined:
            self._stash()
        for event in self._in_order():
            self._run(event)
        for made in self._program.outputs:
            # results wait for the host until the step's end of the micro-batch
            storage = self._program.tensors[made].storage
            lifetime = self._alive.get((storage, 0, self._program.tensors[storage].ipu))
            if lifetime is not None:
                lifetime.last = max(lifetime.last, self._last_of_forward)
        self._overwrite()
        ipus = range(self._program.ipus)
        return Liveness(
            events=self._events,
            lifetimes=list(self._alive.values()),
            stashes=dict(self._stashes),
            live={ipu: self._live(ipu) for ipu in ipus},
            temporary=self._temporaries(),
        )

    # -- the order ---------------------------------------------------------------------------------------

    def _in_order(self) -> Iterator[Event]:
        program = self._program
        follow = self._followers()
        done: set[int] = set()
        for number in program.of_phase(Phase.FORWARD):
            yield Event(number)
            for each in follow.pop(number, ()):
                yield Event(each)
        self._last_of_forward = max(0, len(self._events) - 1)
        for number in program.of_phase(Phase.BACKWARD):
            for each in self._needed_again(number, done):
                yield Event(each, again=True)
            yield Event(number)
            for each in follow.pop(number, ()):
                yield Event(each)
        for each in follow.pop(-1, ()):
            yield Event(each)
        for number in program.of_phase(Phase.UPDATE) if self._update_is_last() else ():
            yield Event(number)

    def _update_is_last(self) -> bool:
        return bool(self._program.of_phase(Phase.ACCUMULATE))

    def _followers(self) -> dict[int, list[int]]:
        """Ops of accumulation (and of an update without it), by the step's op that they wait for."""
        program = self._program
        phases = [Phase.ACCUMULATE] if self._update_is_last() else [Phase.UPDATE]
        follow: dict[int, list[int]] = defaultdict(list)
        waits: dict[int, int] = {}
        for phase in phases:
            for number in program.of_phase(phase):
                awaited = -1
                for operand in program.ops[number].inputs:
                    producer = program.tensors[operand].producer
                    awaited = max(awaited, waits.get(producer, producer))
                    # an in-place result waits for the op that wrote it last
                    storage = program.tensors[operand].storage
                    awaited = max(awaited, waits.get(-2 - storage, -1))
                waits[number] = awaited
                for made in program.ops[number].outputs:
                    waits[-2 - program.tensors[made].storage] = awaited
                follow[awaited].append(number)
        return follow

    def _needed_again(self, number: int, done: set[int]) -> list[int]:
        """Forward ops to run again before op `number`, that were not yet, in program order."""
        if not self._again:
            return []
        program = self._program
        stage = 2 * self._last_stage - program.ops[number].stage
        found: list[int] = []
        stack = [number]
        while stack:
            for operand in program.ops[stack.pop()].inputs:
                storage = program.tensors[operand].storage
                if self._is_saved(storage, stage):
                    continue
                for maker in self._makers_again.get(storage, ()):
                    if maker not in done:
                        done.add(maker)
                        found.append(maker)
                        stack.append(maker)
        return sorted(found)

    # -- lifetimes ---------------------------------------------------------------------------------------

    def _run(self, event: Event) -> None:
        position = len(self._events)
        self._events.append(event)
        program = self._program
        op = program.ops[event.op]
        backward = event.again or op.phase is not Phase.FORWARD
        stage = op.stage if op.phase is Phase.FORWARD else 2 * self._last_stage - op.stage
        for operand in op.inputs:
            self._touch(program.tensors[operand].storage, position, op.ipu, backward, stage)
        for made in op.outputs:
            self._touch(program.tensors[made].storage, position, op.ipu, backward, stage)

    def _touch(self, storage: int, position: int, ipu: int, backward: bool, stage: int) -> None:
        tensor = self._program.tensors[storage]
        if self._is_read_on_the_way(tensor.producer):
            return
        at_home = tensor.ipu == ipu or tensor.role in (Role.SCALAR, Role.CONSTANT)
        if at_home and tensor.role in LASTING and not self._comes_and_goes(tensor.role, tensor.elements):
            return
        version = self._version(storage, stage) if backward else 0
        if tensor.role is Role.INPUT and tensor.ipu == ipu and not version:
            return  # in the buffer that the host fills
        key = (storage, version, ipu)
        known = self._alive.get(key)
        if known is None:
            self._alive[key] = Lifetime(storage, ipu, position, position, self._size(storage))
        else:
            known.last = position

    def _is_read_on_the_way(self, producer: int) -> bool:
        """Whether an op of the update is not a pass of its own: vertices of optimizers read either type, and cast."""
        if producer < 0:
            return False
        op = self._program.ops[producer]
        return op.phase is Phase.UPDATE and not op.works

    def _version(self, storage: int, stage: int) -> int:
        """Which of the lives of a storage the backward pass of forward stage `stage` sees."""
        tensor = self._program.tensors[storage]
        if tensor.role is Role.PARAMETER:
            return 1  # off the chip between its uses
        if not self._made_forward(storage):
            return 0
        if storage in self._makers_again and not self._is_saved(storage, stage):
            return 1
        left = self._pipelined and stage < self._last_stage
        return 2 + stage if left or not self._deployment.activations.on_chip else 0

    def _is_saved(self, storage: int, stage: int) -> bool:
        """Whether the backward pass of forward stage `stage` has it from the forward pass."""
        return (storage, stage if self._deployment.execution == "pipelined" else 0) in self._saved

    def _made_forward(self, storage: int) -> bool:
        tensor = self._program.tensors[storage]
        if tensor.producer < 0:
            return tensor.role is Role.INPUT
        return self._program.ops[tensor.producer].phase is Phase.FORWARD

    def _comes_and_goes(self, kind: Role, elements: int) -> bool:
        """Whether a lasting tensor is on the chip only while it is used."""
        deployment = self._deployment
        location = {
            Role.PARAMETER: deployment.weights,
            Role.STATE: deployment.optimizer_state,
            Role.ACCUMULATOR: deployment.accumulators,
        }.get(kind)
        return location is not None and not location.on_chip and elements >= location.smallest_elements

    def _size(self, storage: int) -> int:
        """Bytes on one replica: sharded state, and what an update computes from it, is spread over replicas."""
        tensor = self._program.tensors[storage]
        location = self._deployment.optimizer_state
        if not location.sharded or tensor.elements < location.smallest_elements:
            return tensor.bytes
        producer = tensor.producer
        in_update = producer >= 0 and self._program.ops[producer].phase is Phase.UPDATE
        if tensor.role is Role.STATE or in_update:
            return -(-tensor.bytes // self._program.loops.replicas)
        return tensor.bytes

    def _stash(self) -> None:
        schedule = self._deployment.pipeline_schedule
        for storage, stage in sorted(self._saved):
            depth = stash_depth(stage, self._last_stage + 1, schedule)
            if depth:
                held = self._stashes[self._stage_ipu[stage]]
                held[storage] = held.get(storage, 0) + depth * self._program.tensors[storage].bytes

    def _overwrite(self) -> None:
        """Element-wise results take the place of an operand that dies with the op."""
        program = self._program
        ends: dict[tuple[int, int], list[Lifetime]] = defaultdict(list)
        starts: dict[tuple[int, int], list[Lifetime]] = defaultdict(list)
        for lifetime in self._alive.values():
            if lifetime.last > lifetime.first:
                ends[lifetime.last, lifetime.ipu].append(lifetime)
                starts[lifetime.first, lifetime.ipu].append(lifetime)
        for position, event in enumerate(self._events):
            op = program.ops[event.op]
            if not op.works or not isinstance(op.works[-1], _OVERWRITING):
                continue
            dying = ends.get((position, op.ipu))
            if not dying:
                continue
            sizes = [each.bytes for each in dying]
            for made in starts.get((position, op.ipu), ()):
                if made.bytes in sizes:
                    sizes.remove(made.bytes)
                    made.first = position + 1

    def _live(self, ipu: int) -> NDArray[np.int64]:
        steps = np.zeros(len(self._events) + 2, dtype=np.int64)
        mine = [each for each in self._alive.values() if each.ipu == ipu]
        if mine:
            sizes = np.array([each.bytes for each in mine], dtype=np.int64)
            np.add.at(steps, np.array([each.first for each in mine]), sizes)
            np.subtract.at(steps, np.array([each.last + 1 for each in mine]), sizes)
        return np.cumsum(steps)[: max(1, len(self._events))]

    def _temporaries(self) -> dict[int, NDArray[np.int64]]:
        count = max(1, len(self._events))
        found = {ipu: np.zeros(count, dtype=np.int64) for ipu in range(self._program.ipus)}
        for position, event in enumerate(self._events):
            size = self._costs[event.op].bytes.temporary
            if size:
                found[self._program.ops[event.op].ipu][position] = size
        return found
