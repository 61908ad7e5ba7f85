"""What a C++ program asks of engines and executables. Streams and callbacks are served in its own process."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.cpp import wire
from tremula.frontends.poplar.cpp.allowed import shim
from tremula.frontends.poplar.cpp.requests import request
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.errors import NoSuchStream, StreamConnectionError, SystemRuntimeError
from tremula.frontends.poplar.program.endpoints import DataStream
from tremula.frontends.poplar.program.programs import Program

#: the words for what is asked about a stream
FETCH, TAKE, PREFETCH, COMPLETE, INVALIDATE = range(5)


class ClientStream:
    """The end of a stream that is in the C++ program."""

    def __init__(self, session: Session, stream: DataStream, number: int, callback: bool) -> None:
        self._session = session
        self._to_device = stream.to_device
        self._number = number
        self._is_callback = callback

    def _ask(self, word: int, argument: int | memoryview) -> memoryview | None:
        def prepare(writer: wire.Writer) -> None:
            writer.begin_list(2)
            writer.integer(word)
            if isinstance(argument, int):
                writer.integer(argument)
            else:
                writer.raw(argument)

        found = wire.Reader(self._session.ask(prepare, self._number)).value()
        if found is not None and not isinstance(found, memoryview):
            raise wire.WireError("bytes were expected from a stream")
        return found

    def _fill(self, word: int, buffer: memoryview) -> bool:
        found = self._ask(word, buffer.nbytes)
        if found is None:
            return False
        if len(found) != buffer.nbytes:
            raise wire.WireError(f"a stream gave {len(found)} bytes, {buffer.nbytes} were asked for")
        buffer.cast("B")[:] = found
        return True

    def fetch(self, buffer: memoryview) -> None:
        """Fill the buffer for the device, or hand over what the device wrote to it."""
        if self._to_device:
            if not self._fill(FETCH, buffer):
                raise SystemRuntimeError("a stream of the program gave no data")
        else:
            self._ask(TAKE, buffer)

    def complete(self) -> None:
        """The device has what was fetched."""
        if self._is_callback:
            self._ask(COMPLETE, 0)

    def prefetch(self, buffer: memoryview) -> bool:
        """Fill the buffer ahead of time; only callbacks may know what comes next."""
        return self._is_callback and self._fill(PREFETCH, buffer)

    def invalidate(self) -> None:
        """What was fetched ahead is thrown away."""
        if self._is_callback:
            self._ask(INVALIDATE, 0)


def _progress(session: Session, number: int) -> Any:
    """A function that shows progress in the C++ program, if it wants that."""
    if not number:
        return None

    def show(done: int, all: int) -> None:
        def prepare(writer: wire.Writer) -> None:
            writer.begin_list(2)
            writer.integer(done)
            writer.integer(all)

        session.tell(prepare, number)

    return show


@request("engine")
def engine(
    session: Session,
    graph: Any,
    programs: list[Program],
    options: Mapping[str, str],
    progress: int,
    name: str,
) -> Any:
    """An engine for the programs of a graph."""
    whole = session.graph(session.whole_number(graph))
    made = shim().Engine(whole, programs, dict(options), _progress(session, progress), name)
    session.engines.append(made)
    return made


@request("engine of executable")
def engine_of_executable(session: Session, executable: Any, options: Mapping[str, str]) -> Any:
    """An engine for a program that was compiled before."""
    made = shim().Engine(executable, dict(options))
    session.engines.append(made)
    return made


@request("close engine")
def close_engine(session: Session, engine: Any) -> None:
    """Give back what an engine holds, except its device."""
    if engine in session.engines:
        session.engines.remove(engine)
        engine.core.close()


@request("print of engine")
def print_of_engine(session: Session, engine: Any, number: int) -> None:
    """Let the C++ program print what programs print."""

    def write(text: str) -> None:
        def prepare(writer: wire.Writer) -> None:
            writer.begin_list(1)
            writer.text(text)

        session.tell(prepare, number)

    engine.core.set_print_stream(write)


@request("connect stream")
def connect_stream(
    session: Session,
    engine: Any,
    handle: str,
    replica: int | None,
    number: int,
    callback: bool,
    size: int,
) -> None:
    """Connect a stream with a buffer or a callback of the C++ program. `size`: of a ring, or -1."""
    stream = engine.core.stream(handle)
    needed = stream.elements * stream.type.host_dtype.itemsize
    if 0 <= size < needed:
        raise StreamConnectionError(
            f"stream {handle!r} carries {needed} bytes in each transfer ({stream.elements} elements of type "
            f"{stream.type}), the buffer has {size}"
        )
    engine.core.connect_callback(handle, ClientStream(session, stream, number, callback), replica)


@request("connect host function")
def connect_host_function(session: Session, engine: Any, handle: str, replica: int, number: int) -> None:
    """Let programs call a function of the C++ program."""

    def call(inputs: Any, outputs: Any) -> None:
        def prepare(writer: wire.Writer) -> None:
            writer.begin_list(2)
            writer.begin_list(len(inputs))
            for each in inputs:
                writer.raw(np.ascontiguousarray(each).tobytes())
            writer.begin_list(len(outputs))
            for each in outputs:
                writer.integer(each.nbytes)

        found = wire.Reader(session.ask(prepare, number)).value()
        if not isinstance(found, list) or len(found) != len(outputs):
            raise wire.WireError("a function of the host gave another number of outputs")
        for output, raw in zip(outputs, found, strict=True):
            output[...] = np.frombuffer(raw, dtype=output.dtype).reshape(output.shape)

    engine.core.connect_host_function(handle, call)


# -- tensors and remote buffers ---------------------------------------------------------------------------------------


@request("bytes of tensor")
def bytes_of_tensor(session: Session, engine: Any, handle: str, write: bool) -> int:
    """The size of what the host writes to, or reads from, a tensor with a handle."""
    contents = engine.core.graph.contents
    view = (contents.host_writes if write else contents.host_reads).get(handle)
    if view is None:
        raise NoSuchStream(f"no tensor has the handle {handle!r}: call createHostWrite or createHostRead")
    return int(view.elements * view.type.host_dtype.itemsize)


@request("write tensor")
def write_tensor(session: Session, engine: Any, handle: str, data: memoryview) -> None:
    """Write a tensor that has a handle."""
    engine.core.write_tensor(handle, data)


@request("read tensor")
def read_tensor(session: Session, engine: Any, handle: str, size: int) -> bytearray:
    """Read a tensor that has a handle."""
    view = engine.core.graph.contents.host_reads.get(handle)
    if view is not None:
        whole = view.elements * view.type.host_dtype.itemsize * engine.core.graph.contents.replicas
        if size > whole:
            size = whole if whole else size  # the core says what is wrong with other sizes
    space = bytearray(size)
    engine.core.read_tensor(handle, memoryview(space))
    return space


def _row_bytes(engine: Any, handle: str) -> int:
    buffer = engine.core.graph.contents.remote_buffers.get(handle)
    if buffer is None:
        known = ", ".join(sorted(engine.core.graph.contents.remote_buffers)) or "none"
        raise NoSuchStream(f"there is no remote buffer {handle!r}; those of the graph: {known}")
    return int(buffer.elements * buffer.type.host_dtype.itemsize)


@request("bytes of row")
def bytes_of_row(session: Session, engine: Any, handle: str) -> int:
    """The size of a row of a remote buffer."""
    return _row_bytes(engine, handle)


@request("write row")
def write_row(session: Session, engine: Any, handle: str, data: memoryview, row: int, replica: int) -> None:
    """Write a row of a remote buffer."""
    engine.core.copy_to_remote_buffer(handle, data, row, replica)


@request("read row")
def read_row(session: Session, engine: Any, handle: str, row: int, replica: int) -> bytearray:
    """Read a row of a remote buffer."""
    space = bytearray(_row_bytes(engine, handle))
    engine.core.copy_from_remote_buffer(handle, memoryview(space), row, replica)
    return space


# -- texts, profiles and executables ----------------------------------------------------------------------------------


@request("summary")
def summary(session: Session, engine: Any, options: Mapping[str, str]) -> str:
    """The text of printProfileSummary."""
    out = io.StringIO()
    engine.printProfileSummary(out, dict(options))
    return out.getvalue()


@request("timing")
def timing(session: Session, engine: Any) -> str:
    """How long the host took to make the engine."""
    out = io.StringIO()
    engine.reportTiming(out)
    return out.getvalue()


@request("executable")
def executable(
    session: Session,
    graph: Any,
    programs: list[Program],
    options: Mapping[str, str],
    progress: int,
    name: str,
) -> Any:
    """Programs, checked and prepared to be saved or run."""
    whole = session.graph(session.whole_number(graph))
    return shim().compileGraph(whole, programs, dict(options), _progress(session, progress), name)


@request("save executable")
def save_executable(session: Session, executable: Any) -> bytes:
    """An executable as bytes."""
    out = io.BytesIO()
    executable.serialize(out)
    return out.getvalue()


@request("load executable")
def load_executable(session: Session, data: memoryview) -> Any:
    """An executable from bytes."""
    return shim().Executable.deserialize(io.BytesIO(data))
