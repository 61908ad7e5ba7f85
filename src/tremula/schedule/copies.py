"""What has to cross from one IPU to another for one micro-batch.

In a pipeline, a tensor that a later stage reads is handed on from stage to stage, as PopART does; gradients go
the other way. Without a pipeline it is copied once to each IPU that reads it. Weights that several IPUs read
are copied for every micro-batch. What a later stage on the same IPU reads, such as one of the two gradients of a
weight that is used at both ends of a model, stays where it is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import Role

_STEP = (Phase.FORWARD, Phase.BACKWARD)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A tensor that goes from one IPU to another after pipeline stage `stage`."""

    storage: int
    source: int
    target: int
    bytes: int
    stage: int = 0


def crossings(program: Program, *, pipelined: bool) -> list[Crossing]:
    """All copies between IPUs for one micro-batch."""
    if program.ipus == 1:
        return []
    readers = _readers(program, pipelined)
    found: list[Crossing] = []
    ipu_of = _ipu_of_stage(program)
    for storage, places in readers.items():
        tensor = program.tensors[storage]
        if tensor.role in (Role.SCALAR, Role.CONSTANT):
            continue
        if not pipelined or tensor.producer < 0:
            # the host writes inputs to the IPU that reads them first
            targets = sorted({ipu for _, ipu in places} - {tensor.ipu})
            found += [Crossing(storage, tensor.ipu, ipu, tensor.bytes) for ipu in targets]
            continue
        # what its own IPU reads in a later stage stays there
        away = [stage for stage, ipu in places if ipu != tensor.ipu]
        for stage in range(program.ops[tensor.producer].stage, max(away, default=-1)):
            source, target = ipu_of.get(stage, tensor.ipu), ipu_of.get(stage + 1, tensor.ipu)
            if source != target:
                found.append(Crossing(storage, source, target, tensor.bytes, stage))
    return found


def _readers(program: Program, pipelined: bool) -> dict[int, set[tuple[int, int]]]:
    """Storage -> (stage, IPU) of the ops that read it away from home."""
    readers: dict[int, set[tuple[int, int]]] = defaultdict(set)
    last = program.forward_stages - 1
    tensors = program.tensors
    for op in program.ops:
        if op.phase not in _STEP:
            continue
        for operand in op.inputs:
            storage = tensors[operand].storage
            tensor = tensors[storage]
            stage = op.stage
            if op.phase is Phase.BACKWARD and _forward_made(program, storage):
                stage = 2 * last - op.stage  # read where the forward stage of the gradient kept it
            if tensor.ipu != op.ipu or (pipelined and tensor.producer >= 0):
                readers[storage].add((stage, op.ipu))
    return readers


def _forward_made(program: Program, storage: int) -> bool:
    producer = program.tensors[storage].producer
    return producer >= 0 and program.ops[producer].phase is Phase.FORWARD


def _ipu_of_stage(program: Program) -> dict[int, int]:
    """Pipeline stage after differentiation -> its IPU."""
    return {op.stage: op.ipu for op in program.ops if op.phase in _STEP}
