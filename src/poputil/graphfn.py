"""Functions of tensors whose program is made once and called from several places: arguments are copied in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Call, Copy
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.errors import PoplibsError


class ArgType(Enum):
    """Whether an argument is read, written, both, or created by the function."""

    InputArg = 0
    OutputArg = 1
    InOutArg = 2
    CreatedArg = 3


class ArgSig:
    """One argument: its kind, and a similar tensor."""

    def __init__(self, type: ArgType, tensor: Tensor | None = None, debugName: str = "") -> None:
        self.type, self.similarTensor, self.debugName = type, tensor, str(debugName)


def input(similar: Tensor, debugName: str = "") -> ArgSig:
    """An argument that is read."""
    return ArgSig(ArgType.InputArg, similar, debugName)


def output(similar: Tensor, debugName: str = "") -> ArgSig:
    """An argument that is written."""
    return ArgSig(ArgType.OutputArg, similar, debugName)


def inout(similar: Tensor, debugName: str = "") -> ArgSig:
    """An argument that is read and written."""
    return ArgSig(ArgType.InOutArg, similar, debugName)


def created(debugName: str = "") -> ArgSig:
    """An argument that the function creates."""
    return ArgSig(ArgType.CreatedArg, None, debugName)


class VoidFunction:
    """`VoidFunction(graph, signature, f, inlined=False)`: `f(args, prog)` adds to `prog`; `args` is a list in which it
    puts the tensors that it makes. A call copies the arguments in, runs the program, and copies results out."""

    def __init__(
        self,
        graph: Graph,
        sig: Sequence[ArgSig],
        f: Callable[..., Any],
        inlined: bool = False,
        debug: Any = "",
    ) -> None:
        self._graph, self._sig, self._inlined, self._f = graph, list(sig), bool(inlined), f
        if inlined:
            return
        self._parameters: list[Any] = [
            None if each.similarTensor is None else graph.clone(each.similarTensor, each.debugName)
            for each in self._sig
        ]
        program = Program()
        self._make(self._parameters, program)
        self._function = graph.addFunction(program)

    def _make(self, args: list[Any], program: Program) -> None:
        self._f(args, program)
        missing = [number for number, each in enumerate(args) if each is None]
        if missing:
            raise PoplibsError(f"the function made no tensor for its arguments {missing}")

    def __call__(self, args: list[Any], prog: Program, debug: Any = "") -> None:
        """Run the function on `args`; a None stands for a tensor that it makes, and is replaced by one."""
        if len(args) != len(self._sig):
            raise PoplibsError(f"the function has {len(self._sig)} arguments, not {len(args)}")
        if self._inlined:
            self._make(args, prog)
            return
        reads, writes = (ArgType.InputArg, ArgType.InOutArg), (ArgType.OutputArg, ArgType.InOutArg)
        for given, parameter, each in zip(args, self._parameters, self._sig, strict=True):
            if each.type in reads:
                prog.add(Copy(given, parameter))
        prog.add(Call(self._function))
        for number, (parameter, each) in enumerate(zip(self._parameters, self._sig, strict=True)):
            if each.type in writes:
                prog.add(Copy(parameter, args[number]))
            elif each.type is ArgType.CreatedArg:
                args[number] = self._graph.clone(parameter, each.debugName)
                prog.add(Copy(parameter, args[number]))


class ProgramFunction:
    """Like `VoidFunction`, but `f(args)` returns the program. A call returns a program too."""

    def __init__(
        self,
        graph: Graph,
        sig: Sequence[ArgSig],
        f: Callable[..., Any],
        inlined: bool = False,
        debug: Any = "",
    ) -> None:
        self._function = VoidFunction(graph, sig, lambda args, prog: prog.add(f(args)), inlined, debug)

    def __call__(self, args: list[Any], debug: Any = "") -> Program:
        program = Program()
        self._function(args, program, debug)
        return program


class TensorFunction:
    """Like `VoidFunction`, but `f(args, prog)` returns a tensor. A call returns one too."""

    def __init__(
        self,
        graph: Graph,
        sig: Sequence[ArgSig],
        f: Callable[..., Any],
        inlined: bool = False,
        debug: Any = "",
    ) -> None:
        def with_result(args: list[Any], prog: Program) -> None:
            args[-1] = f(args[:-1], prog)

        self._function = VoidFunction(graph, [*sig, created("result")], with_result, inlined, debug)

    def __call__(self, args: list[Any], prog: Program, debug: Any = "") -> Tensor:
        every: list[Any] = [*args, None]
        self._function(every, prog, debug)
        args[:] = every[:-1]
        return as_tensor(every[-1])


__all__ = [
    "ArgSig", "ArgType", "ProgramFunction", "TensorFunction", "VoidFunction", "created", "inout", "input", "output",
]  # fmt: skip
