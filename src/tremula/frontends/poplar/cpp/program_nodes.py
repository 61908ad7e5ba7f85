"""Programs of a C++ program, from the rows that it sent: children come before what holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.cpp.values import Decoder
from tremula.frontends.poplar.cpp.wire import ComputeSetOf, WireError
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as core
from tremula.frontends.poplar.program.endpoints import DataStream, Function, HostFunction, RemoteBuffer
from tremula.frontends.poplar.program.programs import Program


@dataclass
class Parts:
    """What a row names."""

    session: Session
    name: str
    children: list[Program]
    views: list[View]
    numbers: list[int]
    texts: list[str]
    objects: list[Any]

    def object(self, kind: type[Any]) -> Any:
        """The first object, which has to be of this kind."""
        if not self.objects or not isinstance(self.objects[0], kind):
            raise WireError(f"a program needs an object of kind {kind.__name__}")
        return self.objects[0]

    def compute_set(self) -> ComputeSet:
        """The compute set that the numbers name."""
        graph, number = self.numbers
        found: ComputeSet = Decoder(self.session).value(ComputeSetOf(graph, number))
        return found


def add_programs(session: Session, rows: list[Any]) -> None:
    """Make the programs of some rows."""
    for number, kind, name, source, children, views, numbers, texts, objects in rows:
        decoder = Decoder(session)
        parts = Parts(
            session,
            name,
            [session.program(each) for each in children.tolist()],
            [decoder.value(view) for view in views],
            numbers.tolist(),
            texts,
            [decoder.value(each) for each in objects],
        )
        make = _MAKERS.get(kind)
        if make is None:
            raise WireError(f"there is no program of kind {kind!r}")
        made = make(parts)
        made.source = source
        if name and not made.name:
            made.name = name
        session.add_program(made, number)


def _execute(parts: Parts) -> Program:
    return core.Execute(parts.compute_set(), parts.views[0] if parts.views else None)


def _remote_read(parts: Parts) -> Program:
    view, offset = [*parts.views, None][:2]
    if view is None:
        raise WireError("a copy from a remote buffer needs a tensor")
    return core.RemoteRead(parts.object(RemoteBuffer), view, offset, parts.name)


def _remote_write(parts: Parts) -> Program:
    view, offset = [*parts.views, None][:2]
    if view is None:
        raise WireError("a copy to a remote buffer needs a tensor")
    return core.RemoteWrite(view, parts.object(RemoteBuffer), offset, parts.name)


def _cross_replica(parts: Parts) -> Program:
    pairs = dict(zip(parts.numbers[::2], parts.numbers[1::2], strict=True))
    return core.CrossReplicaCopy(parts.views[0], parts.views[1], pairs, parts.name)


def _repeat_while(parts: Parts) -> Program:
    condition, body = parts.children
    return core.RepeatWhile(condition, parts.views[0], body, bool(parts.numbers[0]), parts.name)


def _switch(parts: Parts) -> Program:
    strict, *values = parts.numbers
    default, *bodies = parts.children
    made = core.Switch(parts.views[0], zip(values, bodies, strict=True), default, parts.name)
    if strict:
        made.unreachable = "the value has no case"
    return made


def _print(parts: Parts) -> Program:
    made = core.PrintTensor(parts.texts[0], parts.views[0])
    if parts.numbers:
        made.format = _format(parts)
    return made


def _format(parts: Parts) -> dict[str, Any]:
    names = ("summariseThreshold", "edgeItems", "maxLineWidth", "digits")
    marks = dict(zip(("separator", "openBracket", "closeBracket"), parts.texts[2], strict=True))
    return {**dict(zip(names, parts.numbers, strict=True)), "floatFormat": parts.texts[1].lower(), **marks}


def _call_host(parts: Parts) -> Program:
    count = parts.numbers[0]
    return core.CallHost(parts.object(HostFunction), parts.views[:count], parts.views[count:])


_MAKERS: dict[str, Callable[[Parts], Program]] = {
    "Program": lambda parts: Program(),
    "Sequence": lambda parts: core.Sequence_(*parts.children, name=parts.name),
    "Block": lambda parts: core.Block(parts.children[0], parts.name),
    "Execute": _execute,
    "Copy": lambda parts: core.TensorCopy(
        parts.views[0], parts.views[1], dont_outline=bool(parts.numbers[0]), name=parts.name
    ),
    "StreamRead": lambda parts: core.StreamRead(
        parts.object(DataStream), parts.views[0], optimise_memory=bool(parts.numbers[0]), name=parts.name
    ),
    "StreamWrite": lambda parts: core.StreamWrite(
        parts.views[0], parts.object(DataStream), optimise_memory=bool(parts.numbers[0]), name=parts.name
    ),
    "RemoteRead": _remote_read,
    "RemoteWrite": _remote_write,
    "CrossReplicaCopy": _cross_replica,
    "WriteUndef": lambda parts: core.WriteUndef(parts.views[0], parts.name),
    "AssumeEqualAcrossReplicas": lambda parts: core.AssumeEqualAcrossReplicas(parts.views[0], parts.name),
    "Repeat": lambda parts: core.Repeat(parts.numbers[0], parts.children[0], parts.name),
    "RepeatWhile": _repeat_while,
    "If": lambda parts: core.If(parts.views[0], parts.children[0], parts.children[1], parts.name),
    "Switch": _switch,
    "Call": lambda parts: core.Call(parts.object(Function), parts.name),
    "PrintTensor": _print,
    "Sync": lambda parts: core.Sync(parts.texts[0], parts.name),
    "Abort": lambda parts: core.Abort(parts.texts[0]),
    "AbortOnCondition": lambda parts: core.AbortOnCondition(parts.views[0], parts.texts[0]),
    "ErrorProgram": lambda parts: core.ErrorProgram(parts.texts[0], parts.views[0]),
    "CallHost": _call_host,
}
