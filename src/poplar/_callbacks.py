"""Callbacks that serve the transfers of a stream, with the names of C++."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from tremula.frontends.poplar.errors import StreamConnectionError
from tremula.frontends.poplar.program.endpoints import DataStream


class StreamCallback:
    """Serves the transfers of a stream. Derive from it and implement `fetch`, and the other methods if needed."""

    class Result(Enum):
        """Whether data are available to prefetch."""

        Success = 0
        NotAvailable = 1

    def prefetch(self, buffer: np.ndarray) -> StreamCallback.Result:
        """Fill the next transfer in advance and return `Success`, or return `NotAvailable`."""
        return StreamCallback.Result.NotAvailable

    def fetch(self, buffer: np.ndarray) -> None:
        """Fill the transfer, or read the data that the device sent."""
        raise NotImplementedError(f"{type(self).__name__} has no fetch")

    def complete(self) -> None:
        """Called when the device has read the transfer."""

    def invalidatePrefetched(self) -> None:
        """Called when prefetched data are discarded."""


class LegacyStreamCallback(StreamCallback):
    """A callback without prefetching."""


class ServedStream:
    """A callback of the user's behind the interface of the engine."""

    def __init__(self, callback: StreamCallback, stream: DataStream) -> None:
        self._callback = callback
        self._dtype = stream.type.host_dtype

    def _array(self, buffer: memoryview) -> np.ndarray:
        return np.frombuffer(buffer, dtype=self._dtype)

    def fetch(self, buffer: memoryview) -> None:
        self._callback.fetch(self._array(buffer))

    def complete(self) -> None:
        self._callback.complete()

    def prefetch(self, buffer: memoryview) -> bool:
        result = self._callback.prefetch(self._array(buffer))
        if not isinstance(result, StreamCallback.Result):
            raise StreamConnectionError(
                f"{type(self._callback).__name__}.prefetch returned {result!r}: return "
                "StreamCallback.Result.Success or StreamCallback.Result.NotAvailable"
            )
        return result is StreamCallback.Result.Success

    def invalidate(self) -> None:
        self._callback.invalidatePrefetched()


class _Function(StreamCallback):
    """A function as a callback."""

    def __init__(self, function: Callable[[np.ndarray], Any]) -> None:
        self._function = function

    def fetch(self, buffer: np.ndarray) -> None:
        self._function(buffer)


def served(callback: Any, stream: DataStream) -> ServedStream:
    """A callback object or a function of the user's, as the engine takes it."""
    if not isinstance(callback, StreamCallback) and not hasattr(callback, "fetch"):
        if not callable(callback):
            raise StreamConnectionError(
                f"stream {stream.handle!r} needs a StreamCallback or a function, not {type(callback).__name__}"
            )
        callback = _Function(callback)
    return ServedStream(callback, stream)
