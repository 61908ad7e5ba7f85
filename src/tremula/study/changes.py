"""Changes of a program's own lines (docs/advice.md), modelled without touching the program.

Proportions and checkpoints change a program that is captured already, other types need a capture of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tremula.errors import Error
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.variant import Variant
from tremula.program.work import Convolution, Gather, MatMul, Recurrent, Scatter, SparseMatMul, Work

#: work with a share of memory for its temporaries
PLANNED = (MatMul, Convolution, SparseMatMul, Gather, Scatter, Recurrent)


@dataclass(frozen=True)
class Changes:
    """What differs from the program as it was written."""

    #: module -> share of tile memory for temporaries of its product and the product's gradients
    proportions: tuple[tuple[str, float], ...] = ()
    #: modules whose results are kept for the backward pass
    checkpoints: tuple[str, ...] = ()
    #: dtype name in which the host sends each input (None: the one it has); empty: all as they are
    sent: tuple[str | None, ...] = ()
    #: dtype name of gradient accumulators; None: the optimizer's
    accumulators: str | None = None

    def dtypes(self, variant: Variant) -> tuple[tuple[str | None, ...], str | None, str | None] | None:
        """What a capture depends on; None: on nothing of it."""
        if not any(self.sent) and self.accumulators is None:
            return None
        return self.sent, self.accumulators, variant.precision


def checkpoint_tensors(program: Program, modules: Sequence[str]) -> frozenset[str]:
    """Names of the tensors that hold the results of `modules`: what the last op inside each makes."""
    last: dict[str, str] = {}
    for number in program.of_phase(Phase.FORWARD):
        op = program.ops[number]
        for module in modules:
            if op.outputs and (op.module == module or op.module.startswith(f"{module}.")):
                tensor = program.tensors[op.outputs[0]]
                last[module] = program.tensors[tensor.storage].name
    missing = [module for module in modules if module not in last]
    if missing:
        raise Error(f"No op of forward belongs to {', '.join(missing[:8])}.")
    return frozenset(last.values())


def with_proportions(program: Program, proportions: Sequence[tuple[str, float]]) -> Program:
    """`program` with other shares of memory for the products of some modules."""
    if not proportions:
        return program
    shares = dict(proportions)

    def sharing(work: Work, share: float) -> Work:
        return replace(work, proportion=share) if isinstance(work, PLANNED) else work

    ops = [
        replace(op, works=tuple(sharing(work, shares[op.module]) for work in op.works))
        if op.module in shares and op.phase in (Phase.FORWARD, Phase.BACKWARD)
        else op
        for op in program.ops
    ]
    return replace(program, ops=ops, _by_phase=None)
