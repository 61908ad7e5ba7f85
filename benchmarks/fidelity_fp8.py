"""A program captured in fp16 as one whose products and convolutions by weights were converted to fp8.

The vendor's converter keeps such weights in fp8, casts the other operand before each and leaves everything else as it
is: products of two activations, norms, activation functions, lookups.
"""

from __future__ import annotations

from dataclasses import replace

from tremula.program.op import Op
from tremula.program.program import Program
from tremula.program.tensor import Role
from tremula.program.work import Cast, Convolution, MatMul, Work


def narrowed(program: Program) -> Program:
    """`program` with its products by weights in fp8, and these weights in one byte each."""
    storages = [tensor.storage for tensor in program.tensors]
    wide: set[int] = set()
    narrow: set[int] = set()
    ops: list[Op] = []
    for op in program.ops:
        works = tuple(each for work in op.works for each in _narrowed(work))
        read = {storages[n] for n in op.inputs if program.tensors[storages[n]].role is Role.PARAMETER}
        if works == op.works:
            wide |= read if op.works else set()
        else:
            # a bias is added in fp16
            largest = max(read, key=lambda n: program.tensors[n].bytes, default=None)
            narrow |= {largest} if largest is not None else set()
            op = replace(op, works=works)
        ops.append(op)
    tensors = [
        replace(tensor, bytes=tensor.elements, dtype="fp8") if number in narrow - wide else tensor
        for number, tensor in enumerate(program.tensors)
    ]
    return replace(program, ops=ops, tensors=tensors, _by_phase=None)


def _narrowed(work: Work) -> tuple[Work, ...]:
    if isinstance(work, MatMul) and work.dtype == "fp16" and work.groups == 1:
        return Cast(work.rows * work.inner, "fp16", "fp8"), replace(work, dtype="fp8", partials="fp16")
    if isinstance(work, Convolution) and work.dtype == "fp16":
        field = 1
        for extent in work.field:
            field *= extent
        elements = work.batch * work.groups * work.in_channels * field
        return Cast(elements, "fp16", "fp8"), replace(work, dtype="fp8", partials="fp16")
    return (work,)
