"""Changes of a program's own lines that a case may carry, modelled without touching the program.

Each stands for a hook that a few lines of Python put on the model (docs/advice.md): a memory proportion on a module's
result, a result that is kept for the backward pass, an input that is sent in a shorter type and cast on the
device; and for the type of gradient accumulators, which belongs to the optimizer. The first two change a flat
program that is there already, the others need a capture of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.subject import DTYPES, Subject, Variant
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.work import Convolution, Gather, MatMul, Recurrent, Scatter, SparseMatMul, Work


@dataclass(frozen=True)
class Changes:
    """What differs from the program as it was written."""

    #: module -> share of tile memory for temporaries of its product and the product's gradients
    proportions: tuple[tuple[str, float], ...] = ()
    #: modules whose results are kept for the backward pass
    kept: tuple[str, ...] = ()
    #: dtype in which the host sends each input (None: the one it has); empty: all as they are
    sent: tuple[torch.dtype | None, ...] = ()
    #: dtype of gradient accumulators; None: the optimizer's
    accumulators: torch.dtype | None = None

    def captured(self, variant: Variant) -> tuple[object, ...] | None:
        """What a capture has to know of it; None: nothing."""
        if not any(self.sent) and self.accumulators is None:
            return None
        return self.sent, self.accumulators, variant.precision


def subject_with(subject: Subject, changes: Changes, variant: Variant) -> Subject:
    """`subject` with inputs and accumulators of other types."""
    parts = subject.parts
    if changes.accumulators is not None:
        if parts.spec is None:
            raise Error("There are no gradient accumulators in inference.")
        # half accumulators switch the mean to a running one, as the shim does for the same optimizer
        settings = replace(
            parts.settings,
            running_mean=parts.settings.mean_reduction and changes.accumulators is torch.float16,
        )
        parts = replace(parts, spec=replace(parts.spec, accum_type=changes.accumulators), settings=settings)
    if any(changes.sent):
        expected = [_expected(tensor.dtype, variant) for tensor in parts.inputs]
        call = parts.call

        def cast(values: list[torch.Tensor]) -> Any:
            return call(
                [
                    value if sent is None else value.to(dtype)
                    for value, sent, dtype in zip(values, changes.sent, expected, strict=True)
                ]
            )

        inputs = [
            tensor if sent is None else torch.empty(tensor.shape, dtype=sent, device="meta")
            for tensor, sent in zip(parts.inputs, changes.sent, strict=True)
        ]
        parts = replace(parts, inputs=inputs, call=cast)
    return Subject(parts)


def _expected(dtype: torch.dtype, variant: Variant) -> torch.dtype:
    """The type that forward gets an input in."""
    if variant.precision is None or not dtype.is_floating_point:
        return dtype
    wanted: torch.dtype = DTYPES[variant.precision]
    return wanted


def kept_tensors(program: Program, modules: Sequence[str]) -> frozenset[str]:
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
    ops = list(program.ops)
    for number, op in enumerate(ops):
        share = shares.get(op.module)
        if share is None or op.phase not in (Phase.FORWARD, Phase.BACKWARD):
            continue
        ops[number] = replace(op, works=tuple(_sharing(work, share) for work in op.works))
    return replace(program, ops=ops, _by_phase=None)


def _sharing(work: Work, share: float) -> Work:
    if isinstance(work, MatMul | Convolution | SparseMatMul | Gather | Scatter | Recurrent):
        return replace(work, proportion=share)
    return work
