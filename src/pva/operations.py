"""Operations: the programs and variables of each op of the user's model."""

from __future__ import annotations

import numpy as np

from pva.compilation import CompilationReport
from pva.debug_contexts import DebugContext
from pva.lowered_variables import LoweredVariable
from pva.programs import Program
from pva.report import Report
from pva.sequences import Items
from pva.source import Groups
from pva.tables import Table


class Operation:
    """An op of the user's model."""

    __slots__ = ("_analysis", "_id")

    def __init__(self, analysis: OperationAnalysis, number: int) -> None:
        self._analysis = analysis
        self._id = number

    @property
    def name(self) -> str:
        """Modules and op, joined by slashes."""
        return str(self._analysis.compilation.source.profile.ops[self._id].name)

    @property
    def debugContext(self) -> DebugContext:
        """The debug context of the operation."""
        return DebugContext(self._analysis.compilation.source, self._analysis.context_of(self._id))

    def programs(self) -> Items[Program]:
        """The programs of the operation: its node, and the exchanges and compute sets below it."""
        compilation = self._analysis.compilation
        return compilation.tree.items(compilation.source.programs_of_op[self._id])

    @property
    def vars(self) -> Items[LoweredVariable]:
        """Parts on tiles of its variables: tensors that it makes, tensors that it is the first or last to use, and
        what lasts of its module. Other uses are not recorded.
        """
        return self._analysis.compilation.tree.vars_of_op(self._id)

    @property
    def firstStepIndex(self) -> int:
        """First step of `livenessProgramSteps` that runs one of its programs; -1: none does."""
        return self._analysis.steps_of(self._id)[0]

    @property
    def lastStepIndex(self) -> int:
        """Last one."""
        return self._analysis.steps_of(self._id)[1]

    def __repr__(self) -> str:
        return f"Operation({self._id}, {self.name!r})"


class OperationAnalysis:
    """The operations of a report."""

    def __init__(self, report: Report) -> None:
        self.compilation: CompilationReport = report.compilation
        source = self.compilation.source
        self._contexts = Groups(source.numbers("contexts", "op_id"), len(source.profile.ops))

    @property
    def operations(self) -> Table[Operation]:
        """All ops that do work, in the order of a step."""
        source = self.compilation.source
        ops = source.profile.ops
        return Table(
            range(len(ops)),
            lambda number: Operation(self, number),
            source.print_length,
            {
                "name": lambda: [op.name for op in ops],
                "target": lambda: [op.target for op in ops],
                "module": lambda: [op.module for op in ops],
                "phase": lambda: [op.phase for op in ops],
                "ipu": lambda: np.asarray([op.ipu for op in ops], dtype=np.int64),
                "runs": lambda: np.asarray([op.runs for op in ops], dtype=np.int64),
                "cycles": lambda: np.asarray([op.cycles for op in ops]),
                "flops": lambda: np.asarray([op.flops for op in ops]),
            },
        )

    def context_of(self, op: int) -> int:
        """The debug context of an op."""
        found = self._contexts[op]
        return int(found[0]) if len(found) else -1

    def steps_of(self, op: int) -> tuple[int, int]:
        """First and last step of an op."""
        index = self.compilation.index
        steps = [
            step
            for program in self.compilation.source.programs_of_op[op].tolist()
            for step in index.by_program[program]
        ]
        return (int(min(steps)), int(max(steps))) if steps else (-1, -1)
