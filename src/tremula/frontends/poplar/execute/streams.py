"""The host's ends of streams: circular buffers, and callbacks that fill or take each transfer.

A circular buffer holds one transfer after the other. A transfer is never cut in two: where less than a whole one is
left before the end, the next one starts at the beginning. Replicas with streams of their own take consecutive transfers
of a buffer that was connected for all of them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.errors import StreamConnectionError
from tremula.frontends.poplar.program.endpoints import DataStream


class StreamCallback(Protocol):
    """What serves the transfers of a stream. Buffers are bytes of the host's element type."""

    def fetch(self, buffer: memoryview) -> None:
        """Fill the buffer for the device, or take what the device wrote to it."""

    def complete(self) -> None:
        """The device has what `fetch` or `prefetch` gave."""

    def prefetch(self, buffer: memoryview) -> bool:
        """Fill the buffer ahead of time, if that is possible now; whether it was."""

    def invalidate(self) -> None:
        """What `prefetch` gave is thrown away."""


class StreamEnd(Protocol):
    """One end of a stream at the host. What it gives is valid until it is asked again."""

    def take(self) -> NDArray[np.generic]:
        """The elements of the next transfer to the device."""

    def taken(self) -> None:
        """The device has them."""

    def space(self) -> NDArray[np.generic]:
        """Where the elements of the next transfer to the host go."""

    def filled(self) -> None:
        """They are there."""


class Ring:
    """A circular buffer."""

    def __init__(self, stream: DataStream, data: memoryview) -> None:
        dtype = stream.type.host_dtype
        size = stream.elements * dtype.itemsize
        raw = np.frombuffer(data, dtype=np.uint8)
        if raw.nbytes < size:
            raise StreamConnectionError(
                f"stream {stream.handle!r} carries {size} bytes in each transfer "
                f"({stream.elements} elements of type {stream.type}), the buffer has {raw.nbytes}"
            )
        if not stream.to_device and not raw.flags.writeable:
            raise StreamConnectionError(
                f"stream {stream.handle!r} goes to the host, and its buffer cannot be written"
            )
        pieces = raw.nbytes // size if size else 1
        whole = raw[: pieces * size].view(dtype)
        self._pieces = [
            whole[number * stream.elements : (number + 1) * stream.elements] for number in range(pieces)
        ]
        self._next = 0

    def take(self) -> NDArray[np.generic]:
        place = self._next
        self._next = (place + 1) % len(self._pieces)
        return self._pieces[place]

    space = take

    def taken(self) -> None:
        pass

    filled = taken


class CallbackEnd:
    """A callback with the buffer of its transfers, and a second one for what is fetched ahead."""

    def __init__(self, stream: DataStream, callback: StreamCallback, prefetches: bool) -> None:
        self.callback = callback
        self._prefetches = prefetches and stream.to_device
        dtype = stream.type.host_dtype
        self._buffers = [np.zeros(stream.elements, dtype=dtype) for _ in range(2)]
        self._views = [each.view(np.uint8).data for each in self._buffers]
        self._ahead = False

    def take(self) -> NDArray[np.generic]:
        if self._ahead:
            self._ahead = False
            self._buffers.reverse()
            self._views.reverse()
        else:
            self.callback.fetch(self._views[0])
        return self._buffers[0]

    def taken(self) -> None:
        self.callback.complete()
        if self._prefetches:
            self._ahead = bool(self.callback.prefetch(self._views[1]))

    def space(self) -> NDArray[np.generic]:
        return self._buffers[0]

    def filled(self) -> None:
        self.callback.fetch(self._views[0])
        self.callback.complete()

    def close(self) -> None:
        """Throw away what was fetched ahead."""
        if self._ahead:
            self._ahead = False
            self.callback.invalidate()


class HostEnds:
    """The ends of all streams of a program."""

    def __init__(self, replicas: int, prefetches: bool) -> None:
        self._replicas = replicas
        self._prefetches = prefetches
        self._ends: dict[str, list[StreamEnd | None]] = {}

    def connect_ring(self, stream: DataStream, data: memoryview, replica: int | None) -> None:
        """Let transfers go from or to a circular buffer."""
        self._put(stream, Ring(stream, data), replica)

    def connect_callback(self, stream: DataStream, callback: StreamCallback, replica: int | None) -> None:
        """Let a callback serve transfers."""
        self._put(stream, CallbackEnd(stream, callback, self._prefetches), replica)

    def _put(self, stream: DataStream, end: StreamEnd, replica: int | None) -> None:
        if replica is not None and not 0 <= replica < self._replicas:
            raise StreamConnectionError(
                f"stream {stream.handle!r} cannot be connected for replica {replica}: there are {self._replicas}"
            )
        ends = self._ends.setdefault(stream.handle, [None] * self._replicas)
        for number in range(self._replicas) if replica is None else (replica,):
            old = ends[number]
            ends[number] = end
            if isinstance(old, CallbackEnd) and old not in ends:
                old.close()

    def of(self, stream: DataStream, replica: int, line: str = "") -> StreamEnd:
        """The end of a stream for one replica."""
        ends = self._ends.get(stream.handle)
        end = None if ends is None else ends[replica]
        if end is None:
            whose = f" for replica {replica}" if self._replicas > 1 else ""
            where = f", used by the copy at {line}," if line else ""
            raise StreamConnectionError(
                f"stream {stream.handle!r}{where} is not connected{whose}: call connectStream or "
                "connectStreamToCallback before the run"
            )
        return end

    def close(self) -> None:
        """Throw away what was fetched ahead."""
        for end in {id(each): each for ends in self._ends.values() for each in ends}.values():
            if isinstance(end, CallbackEnd):
                end.close()
