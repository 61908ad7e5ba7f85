"""Programs: what an engine runs. `poplar.program` is the C++ namespace of the same name."""

from __future__ import annotations

from typing import Any

from tremula.frontends.poplar.errors import ControlProgramError
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as _core
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.endpoints import Function
from tremula.frontends.poplar.program.programs import (
    Abort,
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Block,
    Call,
    ErrorProgram,
    Execute,
    If,
    Program,
    Repeat,
    WriteUndef,
)
from tremula.frontends.poplar.program.programs import (
    PrintTensor as _PrintTensor,
)
from tremula.frontends.poplar.program.programs import (
    Sequence_ as Sequence,
)
from tremula.frontends.poplar.program.programs import (
    Switch as _Switch,
)

from ._enums import SyncType
from ._tensor import Tensor

#: a program that does nothing
Nop = Program


class Copy(Program):
    """A copy between tensors, streams and remote buffers. Making one gives the program of its kind.

    `Copy(tensor, tensor)`, `Copy(stream, tensor)`, `Copy(tensor, stream)`, `Copy(buffer, tensor[, offset])`,
    `Copy(tensor, buffer[, offset])`.
    """

    def __new__(cls, src: Any, dst: Any, *options: Any, name: str = "") -> Program:  # type: ignore[misc]
        return make_copy(src, dst, options, name)


class RepeatWhileTrue(_core.RepeatWhile):
    """Run `cond`, then, while the predicate is true, the body and `cond` again."""

    def __init__(self, cond: Program, predicate: View, body: Program, name: str = "") -> None:
        super().__init__(cond, predicate, body, True, name)


class RepeatWhileFalse(_core.RepeatWhile):
    """Run `cond`, then, while the predicate is false, the body and `cond` again."""

    def __init__(self, cond: Program, predicate: View, body: Program, name: str = "") -> None:
        super().__init__(cond, predicate, body, False, name)


class Switch(_Switch):
    """Run the program of the case that a scalar names, or the default."""

    @staticmethod
    def switchWithBoundsChecking(control: View, cases: Any = (), name: str = "") -> Switch:
        """A switch in which a value without a case is an error."""
        made = Switch(control, cases, name=name)
        made.unreachable = "the value has no case"
        return made

    @staticmethod
    def switchWithUnreachableDefault(control: View, cases: Any = (), name: str = "") -> Switch:
        """A switch whose author promises that every value has a case; here a value without one is an error."""
        return Switch.switchWithBoundsChecking(control, cases, name)


class PrintTensor(_PrintTensor):
    """`PrintTensor(tensor)` or `PrintTensor(title, tensor)`: print a tensor when the program runs."""

    def __init__(self, title: str | Tensor, tensor: Tensor | str | None = None, fmt: Any = None) -> None:
        if isinstance(title, View):  # the tensor alone, or followed by a name for profiles
            tensor, title = title, tensor or title.getDebugStr()
        if not isinstance(tensor, View):
            raise ControlProgramError("PrintTensor needs a tensor")
        super().__init__(str(title), tensor, fmt)


class Sync(_core.Sync):
    """All tiles wait for each other."""

    def __init__(self, type: SyncType = SyncType.INTERNAL, name: str = "") -> None:
        super().__init__(SyncType(type).name, name)


class CrossReplicaCopy(_core.CrossReplicaCopy):
    """Copy between replicas; `replicaMap` gives the target replica of each source replica."""

    def __init__(self, src: View, dst: View, replicaMap: dict[int, int], name: str = "") -> None:
        super().__init__(src, dst, replicaMap, name)


__all__ = [
    "Abort",
    "AbortOnCondition",
    "AssumeEqualAcrossReplicas",
    "Block",
    "Call",
    "Copy",
    "CrossReplicaCopy",
    "ErrorProgram",
    "Execute",
    "Function",
    "If",
    "Nop",
    "PrintTensor",
    "Program",
    "Repeat",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Sequence",
    "Switch",
    "Sync",
    "WriteUndef",
]
