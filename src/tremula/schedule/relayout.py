"""A flat program that was captured in segments, laid over IPUs: what a capture with blocks at those places gives.

Nothing is captured or lowered again, so a search for a split can try one every few hundredths of a second. The
rules are those of a capture: backward ops mirror their forward stage, and `program.homes` places the rest. One thing
is not known here: an op whose memory proportion the user set to just that of IPU 0 is taken for one that has it from
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.program.homes import STEP, homes
from tremula.program.op import Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import Tensor
from tremula.program.work import Work

_DEFAULT = -1


def relayout(
    program: Program,
    stage_of: Sequence[int],
    ipu_of_stage: Sequence[int],
    proportions: Mapping[int, float] | None = None,
) -> Program:
    """`program` with segment k in forward stage `stage_of[k]`.

    Args:
        program: captured in segments: its forward stages are segments, all on one IPU.
        stage_of: stage of each segment, from 0 upward without gaps.
        ipu_of_stage: IPU of each forward stage.
        proportions: memory for temporaries by IPU (Deployment.proportions), if it differs between IPUs.
    """
    return Relayout(program, proportions).over(stage_of, ipu_of_stage)


class Relayout:
    """What is the same for all layouts of one program."""

    def __init__(self, program: Program, proportions: Mapping[int, float] | None = None) -> None:
        self._program = program
        ops, tensors = program.ops, program.tensors
        last = program.forward_stages - 1
        found = homes(ops, tensors)
        self._homes = np.array(found.tensors, dtype=np.int64)
        self._segments = np.array(
            [op.stage if op.phase is Phase.FORWARD else 2 * last - op.stage for op in ops], dtype=np.int64
        )
        self._forward = np.array([op.phase is Phase.FORWARD for op in ops], dtype=bool)
        #: backward ops that the capture could not tie to a line: with the last stage, unless a block has them
        self._loose = np.array([op.phase is Phase.BACKWARD and op.source is None for op in ops], dtype=bool)
        self._late = np.array([op.phase not in STEP for op in ops], dtype=bool)
        self._owners = np.array(found.ops, dtype=np.int64)
        self._proportions = proportions if len(set((proportions or {}).values())) > 1 else None
        #: works with another proportion, by the identity of those that the program holds
        self._reworked: dict[tuple[int, float], tuple[Work, ...]] = {}
        #: ops and tensors of the layout before: what has not moved is the same object
        self._ops: list[Op] = ops
        self._tensors: list[Tensor] = tensors

    @property
    def segments(self) -> NDArray[np.int64]:
        """By op of the step, its segment."""
        return self._segments

    @property
    def homes(self) -> NDArray[np.int64]:
        """By tensor, the op whose IPU it lives on; -1: IPU 0."""
        return self._homes

    def over(self, stage_of: Sequence[int], ipu_of_stage: Sequence[int]) -> Program:
        """The program with segment k in stage `stage_of[k]`, and that stage on its IPU."""
        ops = self._program.ops
        table, ipus = np.asarray(stage_of, dtype=np.int64), np.asarray(ipu_of_stage, dtype=np.int64)
        last = int(table.max(initial=0))
        stages = table[np.where(self._late, 0, self._segments)]
        stages[self._loose & (stages == 0)] = last
        on = ipus[stages]
        stages = np.where(self._forward, stages, 2 * last - stages)
        stages[self._late] = 0
        on[self._late] = 0
        owned = self._owners >= 0
        on[owned] = on[self._owners[owned]]
        lives = np.where(self._homes >= 0, on[self._homes], 0)
        self._ops = [
            before if before.ipu == ipu and before.stage == stage else self._moved(op, ipu, stage)
            for op, before, ipu, stage in zip(ops, self._ops, on.tolist(), stages.tolist(), strict=True)
        ]
        self._tensors = [
            before if before.ipu == ipu else _living(before, ipu)
            for before, ipu in zip(self._tensors, lives.tolist(), strict=True)
        ]
        return replace(self._program, ops=self._ops, tensors=self._tensors, _by_phase=None)

    def _moved(self, op: Op, ipu: int, stage: int) -> Op:
        return Op(
            op.name, op.kind, op.phase, self._works(op.works, ipu), op.inputs, op.outputs, ipu, stage,
            op.execution_phase, op.scope, op.module, op.source, op.checkpoint, op.unknown, op.host, op.owner,
            op.attributes,
        )  # fmt: skip

    def _works(self, works: tuple[Work, ...], ipu: int) -> tuple[Work, ...]:
        """Works with the memory proportion of their IPU instead of that of IPU 0, where all were captured."""
        if self._proportions is None or not works:
            return works
        general = self._proportions.get(_DEFAULT, 0.6)
        first, here = (self._proportions.get(each, general) for each in (0, ipu))
        if first == here:
            return works
        key = (id(works), here)
        if key not in self._reworked:
            self._reworked[key] = tuple(_with_proportion(work, first, here) for work in works)
        return self._reworked[key]


def _with_proportion(work: Work, before: float, now: float) -> Work:
    changed: Any = work  # few kinds of work have one
    return replace(changed, proportion=now) if getattr(work, "proportion", None) == before else work


def _living(tensor: Tensor, ipu: int) -> Tensor:
    return Tensor(
        tensor.name, tensor.shape, tensor.dtype, tensor.role, tensor.storage, tensor.producer, ipu,
        tensor.scope, tensor.module, tensor.owner, tensor.bytes,
    )  # fmt: skip
