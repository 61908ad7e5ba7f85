"""The process beside a C++ program: it builds the graphs that the program records, and runs them.

`python -m tremula.frontends.poplar.cpp.server SOCKET VERSION` serves the program at the other end of an inherited
socket, and ends when that end is closed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback
from typing import Any

from tremula import log
from tremula.frontends.poplar.cpp import wire
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.errors import PoplarError
from tremula.frontends.poplar.lines import set_line


class Server:
    """Serves the requests of one program."""

    def __init__(self, link: socket.socket) -> None:
        self.session = Session(link)
        self.session.serve = self.serve
        self._handlers: dict[str, Any] = {}

    def run(self) -> None:
        """Serve until the program has gone."""
        try:
            while True:
                self.serve(*self.session.receive())
        except wire.Ended:
            pass
        finally:
            self._close()

    def _close(self) -> None:
        for engine in self.session.engines:
            with contextlib.suppress(Exception):
                engine.core.close()

    def serve(self, kind: str, frame: memoryview) -> None:
        """Serve one frame: a request, or what needs no answer."""
        if kind == "N":
            self._note(frame)
        elif kind == "Q":
            self._answer(frame)
        else:
            raise wire.WireError(f"a frame of kind {kind!r} was not expected")

    def _note(self, frame: memoryview) -> None:
        """What the program recorded. An error is told with the next answer."""
        if self.session.failure is not None:
            return
        try:
            name, *arguments = _read(frame)
            self._record(name, arguments)
        except wire.Ended:
            raise
        except Exception as problem:
            self.session.failure = problem

    def _record(self, name: str, arguments: list[Any]) -> None:
        from tremula.frontends.poplar.cpp import blocks, program_nodes
        from tremula.frontends.poplar.cpp.values import Decoder

        if name == "block":
            reference, block = arguments
            known = self.session.whole(reference.number)
            with self.session.applying(known) as graph:
                blocks.apply(graph, block, Decoder(self.session))
            set_line("")
        elif name == "programs":
            program_nodes.add_programs(self.session, arguments[0])
        elif name == "marks":
            from tremula.frontends.poplar.cpp import marks

            marks.add_marks(arguments[0])
        elif name == "release":
            pairs = arguments[0].tolist()
            for kind, number in zip(pairs[::2], pairs[1::2], strict=True):
                self.session.release(chr(kind), number)
        else:
            raise wire.WireError(f"a note of kind {name!r} was not expected")

    def _answer(self, frame: memoryview) -> None:
        writer = wire.Writer()
        try:
            if self.session.failure is not None:
                raise self.session.failure
            name, where, *arguments = _read(frame)
            set_line(where or _called(name, arguments))
            result = wire.Writer()
            self._result(result, name, arguments)
            writer.begin_list(3)
            self.session.write_changes(writer)
            writer.data += result.data
            writer.none()
            self.session.send("R", writer)
        except wire.Ended:
            raise
        except Exception as problem:
            self._refuse(problem)
        finally:
            set_line("")

    def _result(self, writer: wire.Writer, name: str, arguments: list[Any]) -> None:
        from tremula.frontends.poplar.cpp import engines, marks, requests, texts, values  # noqa: F401  (they register themselves)

        decoder = values.Decoder(self.session)
        given = decoder.value(arguments)
        if name == "call":
            module, function, parameters = given
            _call(self.session, writer, module, function, parameters, decoder)
            return
        handler = requests.HANDLERS.get(name)
        if handler is None:
            raise wire.WireError(
                f"there is no request {name!r:.80}: the C++ libraries are of another version of Tremula. "
                "Run `tremula cpp enable` again"
            )
        values.write(self.session, writer, handler(self.session, *given))

    def _refuse(self, problem: Exception) -> None:
        if log.level("tremula") in ("DEBUG", "TRACE", "TRACE_ALL"):
            traceback.print_exception(problem)
        kind, text = described(problem)
        writer = wire.Writer()
        writer.begin_list(3)
        self.session.write_changes(writer)
        writer.text(kind)
        writer.text(text)
        self.session.send("X", writer)


def _called(name: str, arguments: list[Any]) -> str:
    """What the program called, for messages where its line is not known."""
    if name == "call":
        return f"{arguments[0]}::{arguments[1]}"
    return str(arguments[1]) if name == "method" else name


def _call(
    session: Session, writer: wire.Writer, module: str, function: str, parameters: list[Any], decoder: Any
) -> None:
    """Call a function of a package: the answer has its result, and what it wrote to each sink."""
    from tremula.frontends.poplar.cpp import allowed, values

    found = allowed.function(module, function)(*parameters)
    writer.begin_list(2)
    values.write(session, writer, found)
    writer.begin_list(len(decoder.sinks))
    for sink in decoder.sinks:
        values.write(session, writer, sink if isinstance(sink, list) else list(sink.programs))


def _read(frame: memoryview) -> list[Any]:
    reader = wire.Reader(frame)
    found = reader.value()
    reader.end()
    if not isinstance(found, list) or not found or not isinstance(found[0], str):
        raise wire.WireError("a frame has to be a list that begins with a name")
    return found


def described(problem: BaseException) -> tuple[str, str]:
    """The class and the text of the exception that the C++ program throws."""
    from tremula.errors import Error

    if isinstance(problem, PoplarError):
        return problem.type_name, str(problem)
    if isinstance(problem, Error):
        return problem.type or "poplar_error", problem.message
    if isinstance(problem, MemoryError):
        return "system_runtime_error", "the host has no memory left for the graph"
    last = traceback.extract_tb(problem.__traceback__)[-1:]
    where = f" ({os.path.basename(last[0].filename)}:{last[0].lineno})" if last else ""
    return "poplar_error", f"{type(problem).__name__}: {problem}{where}"


def main(arguments: list[str]) -> int:
    """Serve the program at the other end of a socket."""
    number, version = (int(each) for each in arguments)
    if version != wire.VERSION:
        sys.stderr.write(
            f"tremula: the C++ libraries speak version {version}, this Python {wire.VERSION}; run `tremula cpp enable` "
            "and build the libraries again\n"
        )
        return 3
    with socket.socket(fileno=number) as link:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            link.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
        Server(link).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
