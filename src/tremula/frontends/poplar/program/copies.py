"""The kinds of copies, by what is at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.frontends.poplar.errors import ControlProgramError
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.endpoints import DataStream, RemoteBuffer
from tremula.frontends.poplar.program.programs import (
    Program,
    RemoteRead,
    RemoteWrite,
    StreamRead,
    StreamWrite,
    TensorCopy,
)


def make_copy(source: Any, target: Any, options: Sequence[Any] = (), name: str = "") -> Program:
    """The program of a copy. `options`: the offset tensor of a remote buffer, or flags and a name."""
    offset = next((each for each in options if isinstance(each, View)), None)
    name = name or next((each for each in options if isinstance(each, str)), "")
    made = _made(source, target, offset, name)
    made.source = user_line()
    return made


def _made(source: Any, target: Any, offset: View | None, name: str) -> Program:
    if isinstance(source, View) and isinstance(target, View):
        _same(source, target)
        return TensorCopy(source, target, name=name)
    if isinstance(source, DataStream) and isinstance(target, View):
        _stream(source, target, to_device=True)
        return StreamRead(source, target, name=name)
    if isinstance(source, View) and isinstance(target, DataStream):
        _stream(target, source, to_device=False)
        return StreamWrite(source, target, name=name)
    if isinstance(source, RemoteBuffer) and isinstance(target, View):
        _rows(source, target, offset)
        return RemoteRead(source, target, offset, name)
    if isinstance(source, View) and isinstance(target, RemoteBuffer):
        _rows(target, source, offset)
        return RemoteWrite(source, target, offset, name)
    raise ControlProgramError(
        f"a copy goes between tensors, streams and remote buffers, not from {type(source).__name__} "
        f"to {type(target).__name__} ({user_line()})"
    )


def _same(source: View, target: View) -> None:
    if source.type is not target.type:
        raise ControlProgramError(
            f"a copy cannot turn {source.type} into {target.type}; use cast ({user_line()})"
        )
    if source.elements != target.elements:
        raise ControlProgramError(
            f"a copy from a tensor of shape {list(source.shape)} to one of shape {list(target.shape)}: "
            f"the numbers of elements differ ({user_line()})"
        )


def _stream(stream: DataStream, view: View, *, to_device: bool) -> None:
    if stream.to_device is not to_device:
        way = "to the device" if stream.to_device else "to the host"
        raise ControlProgramError(
            f"stream {stream.handle!r} goes {way}, the copy the other way ({user_line()})"
        )
    if stream.type is not view.type or stream.elements != view.elements:
        raise ControlProgramError(
            f"stream {stream.handle!r} carries {stream.elements} elements of type {stream.type}, "
            f"the tensor has {view.elements} of type {view.type} ({user_line()})"
        )


def _rows(buffer: RemoteBuffer, view: View, offset: View | None) -> None:
    rows = 1 if offset is None else offset.elements
    if buffer.type is not view.type or buffer.elements * rows != view.elements:
        raise ControlProgramError(
            f"{rows} rows of remote buffer {buffer.handle!r} are {buffer.elements * rows} elements of type "
            f"{buffer.type}, the tensor has {view.elements} of type {view.type} ({user_line()})"
        )
