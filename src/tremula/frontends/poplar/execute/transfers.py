"""Copies between tensors and streams, and between tensors and remote buffers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.execute import values
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.leaves import of_each
from tremula.frontends.poplar.execute.loaded import Loaded
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.execute.remote import checked_rows
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.endpoints import RemoteBuffer


def stream_read(program: p.StreamRead, loaded: Loaded) -> Call:
    """Copy the next transfer of a stream to a tensor."""
    stream, host = program.stream, loaded.host
    writes = [values.writer(program.view, arena) for arena in loaded.arenas]

    def own() -> None:
        for replica in loaded.active:
            end = host.ends.of(stream, replica, program.source)
            writes[replica](end.take())
            end.taken()

    def shared() -> None:
        end = host.ends.of(stream, 0, program.source)
        given = end.take()
        for replica in loaded.active:
            writes[replica](given)
        end.taken()

    return own if stream.replicated or len(writes) == 1 else shared


def stream_write(program: p.StreamWrite, loaded: Loaded) -> Call:
    """Copy a tensor to a stream."""
    stream, host = program.stream, loaded.host
    reads = [values.reader(program.view, arena) for arena in loaded.arenas]

    def run() -> None:
        for replica in loaded.active:
            end = host.ends.of(stream, replica, program.source)
            space = end.space()
            np.copyto(space, reads[replica]().reshape(-1), casting="unsafe")
            end.filled()

    return run


def remote_read(program: p.RemoteRead, loaded: Loaded) -> Call:
    """Copy rows of a remote buffer to a tensor."""
    buffer, line = program.buffer, program.source

    def bound(replica: int, arena: Arena) -> Call:
        rows = _rows(program, arena)
        write = values.writer(program.view, arena)
        memory = loaded.host.buffers.of(buffer, replica)
        return lambda: write(memory[checked_rows(buffer, rows(), line)])

    return of_each(loaded, [bound(*each) for each in enumerate(loaded.arenas)])


def remote_write(program: p.RemoteWrite, loaded: Loaded) -> Call:
    """Copy a tensor to rows of a remote buffer."""
    buffer, line = program.buffer, program.source

    def bound(replica: int, arena: Arena) -> Call:
        rows = _rows(program, arena)
        read = values.reader(program.view, arena)
        memory = loaded.host.buffers.of(buffer, replica)

        def run() -> None:
            memory[checked_rows(buffer, rows(), line)] = read().reshape(-1, _width(buffer))

        return run

    return of_each(loaded, [bound(*each) for each in enumerate(loaded.arenas)])


def _width(buffer: RemoteBuffer) -> int:
    return max(buffer.elements, 1)


def _rows(program: p.RemoteRead | p.RemoteWrite, arena: Arena) -> Callable[[], NDArray[np.generic]]:
    if program.offset is None:
        first = np.zeros(1, dtype=np.int64)
        return lambda: first
    return values.reader(program.offset, arena)
