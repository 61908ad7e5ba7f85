"""Remote buffers: memory outside the chip, made when a program or the host first uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.errors import ApplicationRuntimeError, NoSuchStream, StreamConnectionError
from tremula.frontends.poplar.program.endpoints import RemoteBuffer


class RemoteBuffers:
    """The remote buffers of all replicas, in the host's element types."""

    def __init__(self, buffers: Mapping[str, RemoteBuffer], replicas: int) -> None:
        self._buffers = buffers
        self._replicas = replicas
        self._rows: dict[tuple[str, int], NDArray[np.generic]] = {}

    def of(self, buffer: RemoteBuffer, replica: int) -> NDArray[np.generic]:
        """The rows of a buffer for one replica."""
        found = self._rows.get((buffer.handle, replica))
        if found is None:
            found = np.zeros((buffer.rows, buffer.elements), dtype=buffer.type.host_dtype)
            self._rows[buffer.handle, replica] = found
        return found

    def copy_in(self, handle: str, data: memoryview | NDArray[np.generic], row: int, replica: int) -> None:
        """Copy from the host to a row."""
        target = self._row(handle, row, replica)
        target[...] = self._given(handle, target, data)

    def copy_out(self, handle: str, data: memoryview | NDArray[np.generic], row: int, replica: int) -> None:
        """Copy a row to the host."""
        source = self._row(handle, row, replica)
        self._given(handle, source, data)[...] = source

    def _given(
        self, handle: str, row: NDArray[np.generic], data: memoryview | NDArray[np.generic]
    ) -> NDArray[np.generic]:
        raw: NDArray[np.generic] = np.frombuffer(data, dtype=np.uint8)
        if raw.nbytes != row.nbytes:
            raise StreamConnectionError(
                f"a row of remote buffer {handle!r} has {row.nbytes} bytes, the host's data {raw.nbytes}"
            )
        typed: NDArray[Any] = raw.view(row.dtype)
        return typed

    def _row(self, handle: str, row: int, replica: int) -> NDArray[Any]:
        buffer = self._buffers.get(handle)
        if buffer is None:
            known = ", ".join(sorted(self._buffers)) or "none"
            raise NoSuchStream(f"there is no remote buffer {handle!r}; those of the graph: {known}")
        if not 0 <= row < buffer.rows:
            raise StreamConnectionError(
                f"remote buffer {handle!r} has {buffer.rows} rows, so none with number {row}"
            )
        if not 0 <= replica < self._replicas:
            raise StreamConnectionError(f"there is no replica {replica}: there are {self._replicas}")
        found: NDArray[Any] = self.of(buffer, replica)[row]
        return found


def checked_rows(buffer: RemoteBuffer, rows: NDArray[np.generic], line: str) -> NDArray[np.int64]:
    """Numbers of rows that a program computed; one that does not exist is an error."""
    found = rows.astype(np.int64).reshape(-1)
    wrong = found[(found < 0) | (found >= buffer.rows)]
    if len(wrong):
        raise ApplicationRuntimeError(
            f"a copy ({line}) names row {int(wrong[0])} of remote buffer {buffer.handle!r}, "
            f"which has {buffer.rows} rows"
        )
    return found
