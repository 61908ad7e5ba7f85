"""The program tree and visitors of it.

The tree is the chip model's: switch, steps, loops, stages, ops, and below each op the exchanges and compute sets of
its plan. Code by tile is spread over the tiles of the op's IPU as all code of its category is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pva.compute_sets import ComputeSet
from pva.debug_contexts import DebugContext, contexts
from pva.enums import EXCHANGES, PROGRAM_TYPES, ProgramType
from pva.lowered_variables import LoweredVariable, LoweredVariables
from pva.sequences import Chosen, Items, Numbers
from pva.source import Ints, Source
from pva.tables import Table


class ProgramVisitor:
    """Base of visitors: `program.accept(visitor)` calls the method of the program's type, which does nothing here.

    There is a method visit<Type> for each name of `Program.Type`. Children are visited by the caller.
    """


def _nothing(self: ProgramVisitor, program: Program) -> None:
    """Does nothing: define it in a subclass."""


for _type in ProgramType:
    setattr(ProgramVisitor, f"visit{_type.name}", _nothing)


class Program:
    """A node of the program tree."""

    Type = ProgramType
    __slots__ = ("_id", "_programs")

    def __init__(self, programs: Programs, number: int) -> None:
        self._programs = programs
        self._id = number

    @property
    def name(self) -> str:
        """The kind of program."""
        return self._programs.source.texts("programs", "name")[self._id] if self._id >= 0 else ""

    @property
    def type(self) -> ProgramType:
        """The kind of program."""
        return PROGRAM_TYPES[self._number("type")] if self._id >= 0 else ProgramType.Unknown

    @property
    def children(self) -> Items[Program]:
        """The programs below it."""
        return self._programs.items(self._programs.source.children[self._id])

    @property
    def repeats(self) -> int:
        """Times that it runs in one run of its parent."""
        return self._number("repeats", 1)

    @property
    def cycles(self) -> float:
        """Modelled cycles of all repeats in one run of its parent, added over IPUs."""
        return float(self._programs.source.numbers("programs", "cycles")[self._id]) if self._id >= 0 else 0.0

    @property
    def vars(self) -> Items[LoweredVariable]:
        """Parts on tiles of the variables of its op; see `Operation.vars`."""
        return self._programs.vars_of_op(self._number("op_id", -1))

    @property
    def debugContext(self) -> DebugContext | None:
        """The op or module of the program. None for programs that the model adds."""
        number = self._number("context", -1)
        return DebugContext(self._programs.source, number) if number >= 0 else None

    @property
    def debugContexts(self) -> Items[DebugContext]:
        """The debug context, in a list."""
        number = self._number("context", -1)
        return contexts(self._programs.source, range(number, number + 1) if number >= 0 else range(0))

    @property
    def computeset(self) -> ComputeSet:
        """The compute set of an OnTileExecute. Other programs do not have this attribute."""
        number = self._number("compute_set", -1)
        if number < 0:
            raise AttributeError(f"computeset: {self.name!r} is a {self.type.name}, not an OnTileExecute")
        return ComputeSet(self._programs.source, number)

    computeSet = computeset

    @property
    def codeBytesByTile(self) -> Numbers:
        """Exchange code on each tile; programs that exchange nothing have no such attribute."""
        if self.type not in EXCHANGES:
            raise AttributeError(
                f"codeBytesByTile: {self.name!r} is a {self.type.name}, which has no exchange"
            )
        source = self._programs.source
        code = source.as_category(int(source.exchange_code[self._id]), self._ipu, "internalExchangeCode")
        return source.on_system(code, self._ipu)

    @property
    def controlCodeByTile(self) -> Numbers:
        """Control code on each tile, that of its children included."""
        return self._programs.control_code(self._id)

    @property
    def estimatedCyclesByTile(self) -> Numbers:
        """Cycles of one run on each tile; for programs without children."""
        if self.type is ProgramType.OnTileExecute:
            return self.computeset.estimatedCyclesByTile
        if len(self.children):
            raise AttributeError(
                f"estimatedCyclesByTile: {self.name!r} is a {self.type.name}; use its children"
            )
        tiles = self._programs.source.target.tiles_per_ipu
        return self._programs.source.on_system(np.full(tiles, self.cycles / max(1, self.repeats)), self._ipu)

    def accept(self, visitor: Any) -> None:
        """Call the method of `visitor` for the program's type."""
        getattr(visitor, f"visit{self.type.name}", _ignored)(self)

    @property
    def _ipu(self) -> int:
        return self._programs.source.ipu_of_op(self._number("op_id", -1))

    def _number(self, column: str, missing: int = 0) -> int:
        return int(self._programs.source.values("programs", column)[self._id]) if self._id >= 0 else missing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._id == other._id and self._programs is other._programs

    def __hash__(self) -> int:
        return hash((id(self._programs), self._id))

    def __repr__(self) -> str:
        return f"Program({self._id}, {self.type.name}, {self.name!r})"


def _ignored(program: Program) -> None:
    """A visitor that is not a ProgramVisitor may lack methods."""


class Programs:
    """The tree, and what its nodes share."""

    def __init__(self, source: Source, lowered: LoweredVariables) -> None:
        self.source = source
        self._lowered = lowered
        self._vars: dict[int, Ints] | None = None

    def program(self, number: int) -> Program:
        """One node; -1 stands for a program step without work."""
        return Program(self, number)

    def items(self, rows: Chosen) -> Items[Program]:
        """Some nodes as a list."""
        return Items(rows, self.program, self.source.print_length)

    def table(self) -> Table[Program]:
        """All nodes."""
        source = self.source

        def numbers(column: str) -> NDArray[Any]:
            return source.numbers("programs", column)

        return Table(
            range(source.rows("programs")),
            self.program,
            source.print_length,
            {
                "name": lambda: source.texts("programs", "name"),
                "type": lambda: numbers("type"),
                "kind": lambda: source.texts("programs", "kind"),
                "parent": lambda: numbers("parent"),
                "repeats": lambda: numbers("repeats"),
                "cycles": lambda: numbers("cycles"),
                "op": lambda: numbers("op_id"),
                "computeSet": lambda: numbers("compute_set"),
                "exchangeCodeBytes": lambda: source.exchange_code,
                "controlCodeBytes": lambda: numbers("code_bytes") - source.exchange_code,
            },
        )

    def control_code(self, number: int) -> Numbers:
        """Control code of a node and of those below it, on the tiles of all IPUs."""
        source = self.source
        tiles = source.target.tiles_per_ipu
        code = source.numbers("programs", "code_bytes") - source.exchange_code
        ops = source.numbers("programs", "op_id")
        found = np.zeros((source.target.ipus_per_replica, tiles), dtype=np.int64)
        waiting = [number] if number >= 0 else []
        while waiting:
            node = waiting.pop()
            waiting.extend(source.children[node].tolist())
            if code[node]:
                ipu = source.ipu_of_op(int(ops[node]))
                found[ipu] += source.as_category(int(code[node]), ipu, "controlCode")
        return source.of_replicas(found)

    def vars_of_op(self, op: int) -> Items[LoweredVariable]:
        """Parts on tiles of the variables that the profile ties to an op."""
        if self._vars is None:
            self._vars = _places_by_op(self.source, self._lowered)
        return self._lowered.of(self._vars.get(op, np.zeros(0, dtype=np.int64)))


def _places_by_op(source: Source, lowered: LoweredVariables) -> dict[int, Ints]:
    """Places in `LoweredVariables.rows` of the variables of each op: what it makes, what begins or ends its life while
    the op runs, and what lasts and belongs to its module.
    """
    found: dict[int, set[int]] = {}
    steps = source.profile.program_steps[0].tolist()
    rows, variables = lowered.rows.tolist(), lowered.variables
    makers, lasting = variables.column("op_id").tolist(), variables.column("always_live").tolist()
    first, last = variables.column("first_step").tolist(), variables.column("last_step").tolist()
    modules = source.texts("variables", "module")
    by_module: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        users = {makers[row]}
        if lasting[row]:
            by_module.setdefault(modules[row], []).append(position)
        else:
            users |= {steps[at] for at in (first[row], last[row]) if 0 <= at < len(steps)}
        for op in users:
            if op >= 0:
                found.setdefault(op, set()).add(position)
    for number, row_of_op in enumerate(source.profile.ops):
        if row_of_op.module in by_module and row_of_op.module:
            found.setdefault(number, set()).update(by_module[row_of_op.module])
    return {op: np.asarray(sorted(positions), dtype=np.int64) for op, positions in found.items()}
