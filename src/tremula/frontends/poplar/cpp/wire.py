"""Values as bytes: what the C++ library and the process that builds graphs say to each other.

A frame is a length (eight bytes, little-endian), a letter for its kind, and a value. A value is a letter for its kind
and its parts; lengths come first. Nothing here makes objects of names: `values` does, from lists of what is allowed.
docs/poplar-cpp.md describes the format.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error

#: both processes have to speak the same version
VERSION = 1
#: the largest frame, in bytes
LARGEST_FRAME = 1 << 34
#: how deep values may be nested
DEEPEST = 64

_HEADER = struct.Struct("<QB")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_I64 = struct.Struct("<q")
_F64 = struct.Struct("<d")

#: letters of the element types of arrays, as NumPy has them
DTYPES = {letter: np.dtype(letter).newbyteorder("<") for letter in "?bBhHiIqQfd"}


class WireError(Error):
    """Bytes that are not a value, or a frame of an impossible size."""

    def __init__(self, message: str) -> None:
        super().__init__(message, type="unrecoverable_runtime_error")


class Ended(Exception):
    """The other process has gone."""


@dataclass(frozen=True)
class Reference:
    """Something that one of the processes keeps, by the letter of its kind and its number."""

    kind: str
    number: int


@dataclass(frozen=True)
class ComputeSetOf:
    """A compute set: the number of its graph, and its own."""

    graph: int
    number: int


@dataclass(frozen=True)
class Made:
    """An object to be made by a public class or function: `module.name(*arguments)`."""

    module: str
    name: str
    arguments: list[Any]


@dataclass(frozen=True)
class Member:
    """A member of a public enumeration."""

    module: str
    name: str
    member: str


@dataclass(frozen=True)
class TensorParts:
    """A view: either offset and strides in bytes, or the address of each element."""

    graph: int
    type: int
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    addresses: NDArray[np.int64] | None


class Sink:
    """A place for what a function adds: an empty sequence of programs, or an empty list."""

    def __init__(self, programs: bool) -> None:
        self.programs = programs


def receive(link: socket.socket) -> tuple[str, memoryview]:
    """The next frame: the letter of its kind, and its bytes."""
    header = _exactly(link, _HEADER.size)
    length, kind = _HEADER.unpack(header)
    if length > LARGEST_FRAME:
        raise WireError(f"a frame of {length} bytes was announced; the largest has {LARGEST_FRAME}")
    return chr(kind), _exactly(link, length)


def _exactly(link: socket.socket, length: int) -> memoryview:
    # the space grows with what arrives, so that an announced length alone costs nothing
    space = bytearray(min(length, 1 << 26))
    done = 0
    while done < length:
        if done == len(space):
            space.extend(bytes(min(length - done, len(space))))
        with memoryview(space) as view:
            count = link.recv_into(view[done:])
        if not count:
            raise Ended
        done += count
    return memoryview(space)[:length]


def send(link: socket.socket, kind: str, payload: bytes | bytearray) -> None:
    """Send a frame."""
    try:
        if len(payload) < 1 << 16:
            link.sendall(_HEADER.pack(len(payload), ord(kind)) + payload)
        else:
            link.sendall(_HEADER.pack(len(payload), ord(kind)))
            link.sendall(payload)
    except (BrokenPipeError, ConnectionResetError):
        raise Ended from None


class Reader:
    """Values from bytes. Whatever does not fit is an error."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0
        self._depth = 0

    def _take(self, length: int) -> memoryview:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise WireError(f"a value is too short: {length} bytes are needed at byte {self._at}")
        found = self._data[self._at : end]
        self._at = end
        return found

    def _u32(self) -> int:
        return int(_U32.unpack(self._take(4))[0])

    def _i64(self) -> int:
        return int(_I64.unpack(self._take(8))[0])

    def _text(self) -> str:
        try:
            return str(self._take(self._u32()), "utf-8")
        except UnicodeDecodeError:
            raise WireError("a text is not in UTF-8") from None

    def value(self) -> Any:
        """The next value."""
        letter = chr(self._take(1)[0])
        how = _KINDS.get(letter)
        if how is None:
            raise WireError(f"no value begins with {letter!r}")
        self._depth += 1
        if self._depth > DEEPEST:
            raise WireError("values are nested too deeply")
        found = how(self)
        self._depth -= 1
        return found

    def end(self) -> None:
        """Raise unless all bytes were read."""
        if self._at != len(self._data):
            raise WireError(f"{len(self._data) - self._at} bytes are left over")

    def _list(self) -> list[Any]:
        count = self._u32()
        if count > len(self._data) - self._at:
            raise WireError(f"a list of {count} values does not fit")
        return [self.value() for _ in range(count)]

    def _map(self) -> dict[str, Any]:
        count = self._u32()
        if count > len(self._data) - self._at:
            raise WireError(f"a map of {count} values does not fit")
        found = {}
        for _ in range(count):
            key = self._text()
            found[key] = self.value()
        return found

    def _array(self) -> NDArray[Any]:
        letter = chr(self._take(1)[0])
        dtype = DTYPES.get(letter)
        if dtype is None:
            raise WireError(f"an array has the unknown type {letter!r}")
        count = int(_U64.unpack(self._take(8))[0])
        return np.frombuffer(self._take(count * dtype.itemsize), dtype=dtype)

    def _object(self) -> Made:
        module, name = self._text(), self._text()
        return Made(module, name, self._list())

    def _tensor(self) -> TensorParts:
        graph, type_, rank = self._u32(), self._take(1)[0], self._take(1)[0]
        shape = tuple(struct.unpack(f"<{rank}q", self._take(8 * rank)))
        count = 1
        for length in shape:
            if length < 0:
                raise WireError("a tensor has a negative length")
            count *= length
        if self._take(1)[0]:
            addresses = np.frombuffer(self._take(8 * count), dtype="<i8").reshape(shape)
            return TensorParts(graph, type_, shape, 0, (), addresses)
        offset = self._i64()
        strides = tuple(struct.unpack(f"<{rank}q", self._take(8 * rank)))
        return TensorParts(graph, type_, shape, offset, strides, None)


def _reference(letter: str) -> Callable[[Reader], Any]:
    return lambda reader: Reference(letter, reader._u32())


_KINDS: dict[str, Callable[[Reader], Any]] = {
    "N": lambda reader: None,
    "0": lambda reader: False,
    "1": lambda reader: True,
    "i": Reader._i64,
    "u": lambda reader: int(_U64.unpack(reader._take(8))[0]),
    "d": lambda reader: float(_F64.unpack(reader._take(8))[0]),
    "s": Reader._text,
    "b": lambda reader: reader._take(int(_U64.unpack(reader._take(8))[0])),
    "l": Reader._list,
    "m": Reader._map,
    "a": Reader._array,
    "t": Reader._tensor,
    "y": lambda reader: Reference("y", reader._take(1)[0]),
    "e": lambda reader: Member(reader._text(), reader._text(), reader._text()),
    "o": Reader._object,
    "q": lambda reader: Sink(programs=True),
    "w": lambda reader: Sink(programs=False),
    "c": lambda reader: ComputeSetOf(reader._u32(), reader._u32()),
    **{letter: _reference(letter) for letter in "gphF"},
}


class Writer:
    """Bytes from values."""

    def __init__(self) -> None:
        self.data = bytearray()

    def none(self) -> None:
        self.data += b"N"

    def boolean(self, value: bool) -> None:
        self.data += b"1" if value else b"0"

    def integer(self, value: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.data += b"i" + _I64.pack(value)
        elif 0 <= value < 1 << 64:
            self.data += b"u" + _U64.pack(value)
        else:
            raise WireError(f"{value} does not fit in 64 bits")

    def real(self, value: float) -> None:
        self.data += b"d" + _F64.pack(value)

    def text(self, value: str) -> None:
        self.data += b"s"
        self.key(value)

    def key(self, value: str) -> None:
        """A key of a map, before its value."""
        raw = value.encode("utf-8", "replace")
        self.data += _U32.pack(len(raw)) + raw

    def raw(self, value: bytes | memoryview) -> None:
        self.data += b"b" + _U64.pack(len(value))
        self.data += value

    def begin_list(self, count: int) -> None:
        """A list: its values follow."""
        self.data += b"l" + _U32.pack(count)

    def begin_map(self, count: int) -> None:
        """A map: a key and a value follow for each."""
        self.data += b"m" + _U32.pack(count)

    def column(self, values: NDArray[Any]) -> None:
        """Numbers, as 64-bit integers or doubles."""
        whole = values.dtype.kind in "iub"
        raw = np.ascontiguousarray(values, dtype="<i8" if whole else "<f8").reshape(-1)
        self.data += (b"aq" if whole else b"ad") + _U64.pack(len(raw))
        self.data += raw.tobytes()

    def reference(self, kind: str, number: int) -> None:
        self.data += kind.encode("ascii") + _U32.pack(number)

    def compute_set(self, graph: int, number: int) -> None:
        self.data += b"c" + _U32.pack(graph) + _U32.pack(number)

    def element_type(self, number: int) -> None:
        self.data += b"y" + _byte(number)

    def tensor(self, parts: TensorParts) -> None:
        rank = len(parts.shape)
        self.data += b"t" + _U32.pack(parts.graph) + _byte(parts.type) + _byte(rank)
        self.data += struct.pack(f"<{rank}q", *parts.shape)
        if parts.addresses is None:
            self.data += b"\0" + struct.pack(f"<{rank + 1}q", parts.offset, *parts.strides)
        else:
            self.data += b"\1" + np.ascontiguousarray(parts.addresses, dtype="<i8").tobytes()


def _byte(value: int) -> bytes:
    return struct.pack("<B", value)
