"""Whether the parts of programs fit together: tensors are those of the graph, what controls programs is a scalar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tremula.frontends.poplar.errors import ControlProgramError
from tremula.frontends.poplar.execute import moves
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.endpoints import Function
from tremula.frontends.poplar.program.numbering import Node, Numbering

#: levels of control structures; each takes a few frames of Python while it runs
_DEEPEST = 200


def check_nesting(numbering: Numbering) -> None:
    """Raise for functions that call themselves, and for control structures that are nested too deeply."""
    depth: dict[int, int] = {}
    entered: set[int] = set()

    def of(top: Node) -> int:
        """How deep the tree below a node is, with the functions that it calls."""
        deepest = 0
        waiting = [(top, 1)]
        while waiting:
            node, level = waiting.pop()
            if isinstance(node.program, p.Call):
                deepest = max(deepest, level + of_function(node.program.function))
            deepest = max(deepest, level)
            waiting.extend((child, level + 1) for child in node.children)
        if deepest > _DEEPEST:
            raise ControlProgramError(f"programs are nested more than {_DEEPEST} deep")
        return deepest

    def of_function(function: Function) -> int:
        number = function.number
        if number in entered:
            raise ControlProgramError(f"function {function.name or number!r} calls itself, directly or not")
        if number not in depth:
            entered.add(number)
            depth[number] = of(numbering.functions[number])
            entered.discard(number)
        return depth[number]

    for root in numbering.roots:
        of(root)


def check_programs(graph: Graph, nodes: Iterable[Node]) -> None:
    """Raise an error about the first program that cannot run."""
    for node in nodes:
        program = node.program
        for view in views(program):
            if view.graph.memory is not graph.memory:
                raise ControlProgramError(
                    f"{_what(program)} names a tensor of another graph than the one that the engine is made for"
                )
        match program:
            case p.Execute():
                _execute(graph, program)
            case p.If() | p.RepeatWhile() | p.AbortOnCondition():
                _predicate(program, program.predicate)
            case p.Switch():
                _control(program, program.control)
            case p.TensorCopy():
                _writable(graph, program, program.target_view)
            case p.StreamRead() | p.RemoteRead():
                _writable(graph, program, program.view)
            case p.RunLibrary():
                for view in program.call.outputs:
                    _writable(graph, program, view)
            case p.CountCycles():
                _counter(graph, program)
            case p.RemoteWrite():
                _rows(program, program.offset)
        if isinstance(program, p.RemoteRead):
            _rows(program, program.offset)


def views(program: p.Program) -> Iterator[View]:
    """The tensors that a program names itself."""
    match program:
        case p.TensorCopy() | p.CrossReplicaCopy():
            yield from (program.source_view, program.target_view)
        case p.StreamRead() | p.StreamWrite() | p.WriteUndef() | p.PrintTensor():
            yield program.view
        case p.AssumeEqualAcrossReplicas() | p.ErrorProgram():
            yield program.view
        case p.RemoteRead() | p.RemoteWrite():
            yield program.view
            if program.offset is not None:
                yield program.offset
        case p.If() | p.RepeatWhile() | p.AbortOnCondition():
            yield program.predicate
        case p.Switch():
            yield program.control
        case p.Execute():
            if program.exit_value is not None:
                yield program.exit_value
        case p.CallHost():
            yield from (*program.inputs, *program.outputs)
        case p.RunLibrary():
            yield from (*program.call.inputs, *program.call.outputs)
        case p.CountCycles():
            yield program.counter


def _what(program: p.Program) -> str:
    name = f" {program.name!r}" if program.name else ""
    line = f" ({program.source})" if program.source else ""
    return f"{type(program).__name__.rstrip('_')}{name}{line}"


def _rows(program: p.Program, offset: View | None) -> None:
    if offset is not None and not offset.type.is_integral:
        raise ControlProgramError(
            f"{_what(program)}: the rows of a remote buffer are integers, not {offset.type}"
        )


def _execute(graph: Graph, program: p.Execute) -> None:
    sets = graph.contents.compute_sets
    number = program.compute_set.number
    if number >= len(sets) or sets[number] is not program.compute_set:
        raise ControlProgramError(
            f"Execute names compute set {program.compute_set.name or number!r}, which belongs to another graph"
        )
    if program.exit_value is not None:
        _scalar(program, program.exit_value, "the exit value")


def _scalar(program: p.Program, view: View, what: str) -> None:
    if view.elements != 1:
        raise ControlProgramError(
            f"{_what(program)}: {what} has to be one element, not a tensor of shape {list(view.shape)}"
        )


def _predicate(program: p.Program, view: View) -> None:
    _scalar(program, view, "the predicate")
    if view.type.name != "BOOL" and not view.type.is_integral:
        raise ControlProgramError(
            f"{_what(program)}: the predicate has to be BOOL or an integer, not {view.type}"
        )


def _control(program: p.Program, view: View) -> None:
    _scalar(program, view, "the control value")
    if not view.type.is_integral:
        raise ControlProgramError(
            f"{_what(program)}: the control value has to be an integer, not {view.type}"
        )


def _counter(graph: Graph, program: p.CountCycles) -> None:
    if program.counter.elements != 2 or program.counter.type.size != 4:
        raise ControlProgramError("cycles are counted in a tensor of two elements of type unsigned int")
    tiles = graph.contents.target.tiles // graph.contents.replicas
    if not 0 <= program.tile < tiles:
        raise ControlProgramError(f"cycles cannot be counted on tile {program.tile}: there are {tiles} tiles")


def _writable(graph: Graph, program: p.Program, view: View) -> None:
    """A constant cannot be written."""
    memory = graph.memory
    if not view.elements:
        return
    first, end = moves.of_view(view).bounds()
    low, high = memory.at(first).number, memory.at(end - 1).number
    numbers = [low] if low == high else np.unique(memory.numbers_of(view.addresses().reshape(-1))).tolist()
    for number in numbers:
        variable = memory.variables[number]
        if variable.constant:
            made = f" (made at {variable.source})" if variable.source else ""
            raise ControlProgramError(
                f"{_what(program)} writes to constant {variable.name or number!r}{made}"
            )
