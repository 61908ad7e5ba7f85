"""Where tensors and weight updates are placed: the rule for everything that the program does not place itself.

A result is on the IPU of the op that computes it. What exists before the step (parameters, buffers, inputs) is on the
IPU of the first op that reads it. Accumulators and optimizer state are with their parameter, and so are the ops of
accumulation and update. What no op of the step reads is on IPU 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.program.op import Op, Phase
from tremula.program.tensor import Tensor

#: phases of the step; the other ops belong to accumulation and update
STEP = (Phase.FORWARD, Phase.BACKWARD)


@dataclass(frozen=True)
class Homes:
    """The ops that decide about places.

    Attributes:
        tensors: by tensor, the op on whose IPU it is; -1: IPU 0.
        ops: by op, the op of the step whose IPU it shares; -1: it has an IPU of its own.
    """

    tensors: list[int]
    ops: list[int]


def homes(ops: Sequence[Op], tensors: Sequence[Tensor]) -> Homes:
    """The rule, applied to a program."""
    first_reader: dict[int, int] = {}
    for number, op in enumerate(ops):
        if op.phase in STEP:
            for operand in op.inputs:
                first_reader.setdefault(tensors[operand].storage, number)
    return Homes(
        [
            tensor.producer
            if tensor.producer >= 0
            else first_reader.get(number if tensor.owner < 0 else tensor.owner, -1)
            for number, tensor in enumerate(tensors)
        ],
        [-1 if op.owner < 0 else first_reader.get(op.owner, -1) for op in ops],
    )


def place(ops: Sequence[Op], tensors: Sequence[Tensor]) -> None:
    """Set the IPUs of tensors, and of ops of accumulation and update, once those of the step are known."""
    found = homes(ops, tensors)
    for op, home in zip(ops, found.ops, strict=True):
        if home >= 0:
            op.ipu = ops[home].ipu
    for tensor, home in zip(tensors, found.tensors, strict=True):
        tensor.ipu = ops[home].ipu if home >= 0 else 0
