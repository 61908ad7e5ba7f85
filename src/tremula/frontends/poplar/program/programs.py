"""Programs: what an engine runs, as a tree that users build from these classes.

Copies, prints and library calls hold views; nothing here runs. `execute` turns a tree into calls, and the chip model
gets it as `tremula.program.placed_steps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tremula.frontends.poplar.errors import ControlProgramError
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View

if TYPE_CHECKING:
    from tremula.frontends.poplar.program.endpoints import DataStream, Function, HostFunction, RemoteBuffer
    from tremula.frontends.poplar.program.library import LibraryCall


class Program:
    """A part of what an engine runs. Without arguments it does nothing."""

    #: the user's file and line, and a name for profiles
    source: str = ""
    name: str = ""

    def isEmpty(self) -> bool:  # noqa: N802  the public name
        """Whether the program does nothing."""
        return type(self) is Program

    def children(self) -> Sequence[Program]:
        """The programs directly below."""
        return ()

    def walk(self) -> Iterator[Program]:
        """This program and all below it; functions that are called are not entered."""
        waiting: list[Program] = [self]
        while waiting:
            current = waiting.pop()
            yield current
            waiting.extend(reversed(current.children()))


class Sequence_(Program):  # noqa: N801  exported as Sequence
    """Run programs one after the other."""

    def __init__(self, *programs: Program | Iterable[Program], name: str = "") -> None:
        self.programs: list[Program] = []
        self.name = name
        for each in programs:
            if isinstance(each, Program):
                self.add(each)
            else:
                for inner in each:
                    self.add(inner)

    def add(self, program: Program) -> None:
        """Append a program."""
        if not isinstance(program, Program):
            raise ControlProgramError(f"a program is needed, not {type(program).__name__}")
        self.programs.append(program)

    def isEmpty(self) -> bool:  # noqa: N802  the public name
        """Whether there is nothing to run."""
        return all(each.isEmpty() for each in self.programs)

    def children(self) -> Sequence[Program]:
        return self.programs


class Block(Program):
    """Run a program; profiles show it under a name."""

    def __init__(self, program: Program, name: str = "") -> None:
        self.program = program
        self.name = name

    def children(self) -> Sequence[Program]:
        return (self.program,)


class Execute(Program):
    """Run all vertices of a compute set. `exit_value` gets whether all of them returned true, if it is given."""

    def __init__(self, compute_set: ComputeSet, exit_value: View | None = None) -> None:
        self.compute_set = compute_set
        self.exit_value = exit_value
        self.name = compute_set.name


class TensorCopy(Program):
    """Copy elements to others of the device, in order."""

    def __init__(self, source: View, target: View, *, dont_outline: bool = False, name: str = "") -> None:
        self.source_view, self.target_view = source, target
        self.dont_outline = dont_outline
        self.name = name


class StreamRead(Program):
    """Copy the next elements of a stream to a tensor."""

    def __init__(
        self, stream: DataStream, target: View, *, optimise_memory: bool = False, name: str = ""
    ) -> None:
        self.stream, self.view = stream, target
        self.optimise_memory = optimise_memory
        self.name = name


class StreamWrite(Program):
    """Copy a tensor to a stream."""

    def __init__(
        self, source: View, stream: DataStream, *, optimise_memory: bool = False, name: str = ""
    ) -> None:
        self.stream, self.view = stream, source
        self.optimise_memory = optimise_memory
        self.name = name


class RemoteRead(Program):
    """Copy rows of a remote buffer to a tensor; `offset` names the rows, else it is row 0."""

    def __init__(
        self, buffer: RemoteBuffer, target: View, offset: View | None = None, name: str = ""
    ) -> None:
        self.buffer, self.view, self.offset = buffer, target, offset
        self.name = name


class RemoteWrite(Program):
    """Copy a tensor to rows of a remote buffer; `offset` names the rows, else it is row 0."""

    def __init__(
        self, source: View, buffer: RemoteBuffer, offset: View | None = None, name: str = ""
    ) -> None:
        self.buffer, self.view, self.offset = buffer, source, offset
        self.name = name


class CrossReplicaCopy(Program):
    """Copy between replicas: replica `r` gives its elements to replica `replica_map[r]`."""

    def __init__(self, source: View, target: View, replica_map: dict[int, int], name: str = "") -> None:
        self.source_view, self.target_view = source, target
        self.replica_map = dict(replica_map)
        self.name = name


class WriteUndef(Program):
    """Say that the values of a tensor are not needed any more."""

    def __init__(self, view: View, name: str = "") -> None:
        self.view = view
        self.name = name


class Repeat(Program):
    """Run a program a fixed number of times."""

    def __init__(self, count: int, body: Program, name: str = "") -> None:
        if count < 0:
            raise ControlProgramError(f"a program cannot be repeated {count} times")
        self.count, self.body = int(count), body
        self.name = name

    def children(self) -> Sequence[Program]:
        return (self.body,)


class RepeatWhile(Program):
    """Run `condition`, then, while the predicate is `expected`, the body and the condition again."""

    def __init__(
        self, condition: Program, predicate: View, body: Program, expected: bool, name: str = ""
    ) -> None:
        self.condition, self.predicate, self.body, self.expected = condition, predicate, body, expected
        self.name = name

    def children(self) -> Sequence[Program]:
        return (self.condition, self.body)


class If(Program):
    """Run one of two programs."""

    def __init__(
        self, predicate: View, true_body: Program, false_body: Program | None = None, name: str = ""
    ) -> None:
        self.predicate = predicate
        self.true_body = true_body
        self.false_body = Program() if false_body is None else false_body
        self.name = name

    def children(self) -> Sequence[Program]:
        return (self.true_body, self.false_body)


class Switch(Program):
    """Run the program of the case that a scalar names, or the default."""

    def __init__(
        self,
        control: View,
        cases: Iterable[tuple[int, Program]] = (),
        default: Program | None = None,
        name: str = "",
    ) -> None:
        self.control = control
        self.cases: list[tuple[int, Program]] = []
        self.default = Program() if default is None else default
        #: the message of the error that a value without a case raises; None: the default runs
        self.unreachable: str | None = None
        self.name = name
        for value, body in cases:
            self.add(value, body)

    def add(self, value: int, body: Program) -> Switch:
        """Add a case."""
        if any(value == known for known, _ in self.cases):
            raise ControlProgramError(f"the switch has a case for {value} already")
        self.cases.append((int(value), body))
        return self

    def children(self) -> Sequence[Program]:
        return (*(body for _, body in self.cases), self.default)


class Call(Program):
    """Run a function of the graph."""

    def __init__(self, function: Function, name: str = "") -> None:
        self.function = function
        self.name = name


class PrintTensor(Program):
    """Print a tensor on the engine's print stream."""

    def __init__(self, title: str, view: View, format: Any = None) -> None:
        self.title, self.view, self.format = title, view, format


class Sync(Program):
    """All tiles wait for each other; `kind` is the name of the sync type."""

    def __init__(self, kind: str = "INTERNAL", name: str = "") -> None:
        self.kind = kind
        self.name = name


class AssumeEqualAcrossReplicas(Program):
    """Say that a tensor is the same on all replicas. `tolerant`: differing values do not raise."""

    def __init__(self, view: View, name: str = "") -> None:
        self.view = view
        self.name = name


class Abort(Program):
    """End the run with an error."""

    def __init__(self, message: str = "") -> None:
        self.message = message


class AbortOnCondition(Program):
    """End the run with an error if a predicate is true."""

    def __init__(self, predicate: View, message: str = "") -> None:
        self.predicate, self.message = predicate, message


class ErrorProgram(Program):
    """End the run with an error that shows a tensor."""

    def __init__(self, message: str, view: View) -> None:
        self.message, self.view = message, view


class CallHost(Program):
    """Call a function of the host with tensors."""

    def __init__(self, function: HostFunction, inputs: Sequence[View], outputs: Sequence[View]) -> None:
        self.function = function
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.name = function.handle


class CountCycles(Program):
    """Run a program and write the modelled cycles of one tile to a pair of integers; without a body, those so far."""

    def __init__(self, body: Program | None, counter: View, tile: int, sync: str = "INTERNAL") -> None:
        self.body, self.counter, self.tile, self.sync = body, counter, tile, sync

    def children(self) -> Sequence[Program]:
        return () if self.body is None else (self.body,)


class RunLibrary(Program):
    """Run a library function."""

    def __init__(self, call: LibraryCall, name: str = "") -> None:
        self.call = call
        self.name = name or call.function
