"""Exchanges between instances that have names: instances may begin them in different orders.

An exchange has two steps. `post` sends an array to the other instances and never waits. `collect` waits for theirs. An
instance that waits has posted before, so that no order of waiting can block all of them. The arrays of one name are
matched in the order in which they were posted.
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import sys
import threading
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tremula import stack_layers
from tremula.distributed import arrays
from tremula.distributed.arrays import Array
from tremula.distributed.collectives import Group
from tremula.errors import Error

#: bytes of a header: a digest of the name, the length of the first dimension, the layout in words
_DIGEST, _LENGTH, _HEADER = 32, 8, 256
#: how long (seconds) an instance that ends waits until the others have what it sent
_FLUSH_SECONDS = 10.0
#: kinds of exchanges
SUM, STACK, CONCATENATE, BROADCAST = "sum", "stack", "concatenate", "broadcast"


@dataclass
class _Posted:
    """An exchange that was begun."""

    name: str
    number: int  #: among those of this name
    kind: str
    root: int
    array: Array
    checked: bool


class NamedExchange:
    """The named exchanges of one group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._lock = threading.Lock()
        self._tickets = itertools.count()
        self._posted: dict[int, _Posted] = {}
        self._numbers: dict[str, int] = {}
        #: for each name: a lock, and the results that were received and not collected yet
        self._names: dict[str, tuple[threading.Lock, dict[int, Any]]] = {}
        self._waiting: dict[str, list[_Posted]] = {}

    def post(self, name: str, array: Array, kind: str, root: int = 0, *, checked: bool = True) -> int:
        """Begin an exchange; gives the ticket for `collect`.

        The sender of a broadcast that is not `checked` does not wait for the others, and does not learn whether their
        arrays are of another layout; they do.
        """
        arrays.note_exchange()
        with self._lock:
            number = self._numbers.get(name, 0)
            self._numbers[name] = number + 1
            ticket = next(self._tickets)
            # in row order; `ascontiguousarray` would make a scalar a vector
            posted = _Posted(name, number, kind, root, np.array(array, order="C", copy=True), checked)
            self._posted[ticket] = posted
            self._names.setdefault(name, (threading.Lock(), {}))
            self._waiting.setdefault(name, []).append(posted)
            sends = kind != BROADCAST or self._group.rank == root
            if sends or checked:
                self._send(_header(posted), _tag(name))
            if sends and posted.array.size:
                self._send(_bytes(posted.array), _tag(name) + 1)
        return ticket

    def collect(self, ticket: int) -> Array:
        """Wait for the others and give the result.

        Raises:
            Error: an instance is missing, or arrays of this name are not alike on all instances.
        """
        with self._lock:
            own = self._posted.pop(ticket)
            turn, received = self._names[own.name]
        with turn:
            while own.number not in received:
                with self._lock:
                    following = self._waiting[own.name].pop(0)
                received[following.number] = self._receive(following)
            result: Array | Error = received.pop(own.number)
        if isinstance(result, Error):
            raise result
        return result

    def _send(self, data: Array, tag: int) -> None:
        tensor = torch.from_numpy(data)
        for position in self._others():
            self._group.start_send(tensor, position, tag)

    def _others(self) -> list[int]:
        return [position for position in range(self._group.size) if position != self._group.rank]

    def _receive(self, own: _Posted) -> Any:
        """The result of an exchange, or the Error that its collection raises."""
        headers = {self._group.rank: _header(own)}
        for position in self._others():
            if own.checked or own.kind != BROADCAST or position == own.root:
                headers[position] = self._from(position, _tag(own.name), _HEADER)
        parts: list[Any] = [None] * self._group.size
        parts[self._group.rank] = own.array
        for position in self._others():
            if own.kind == BROADCAST and position != own.root:
                continue
            layout = _layout(headers[position])
            size = _size(headers[position])
            data = self._from(position, _tag(own.name) + 1, size) if size else np.zeros(0, np.uint8)
            if layout == _layout(headers[self._group.rank]):
                shape = own.array.shape if own.kind != CONCATENATE else (-1, *own.array.shape[1:])
                parts[position] = data.view(own.array.dtype).reshape(shape)
        problem = _difference(own, headers)
        return problem if problem is not None else _combined(own, parts)

    def _from(self, position: int, tag: int, size: int) -> Array:
        found = torch.empty(size, dtype=torch.uint8)
        self._group.receive(found, position, tag)
        return found.numpy()


_exchange: tuple[Group, NamedExchange] | None = None
_making = threading.Lock()


def exchange() -> NamedExchange:
    """The named exchanges of all instances of the run."""
    global _exchange
    with _making:
        group = arrays.group()
        if _exchange is None or _exchange[0] is not group:
            _exchange = group, NamedExchange(group)
        return _exchange[1]


@atexit.register
def _flush_at_end() -> None:
    if _exchange is not None and getattr(sys, "last_value", None) is None:
        _exchange[0].sends.flush(_FLUSH_SECONDS)


def _tag(name: str) -> int:
    """The gloo tag of headers of this name; that of data is the next."""
    return (zlib.crc32(name.encode()) & 0x3FFFFFFF) * 2


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _header(posted: _Posted) -> Array:
    array = posted.array
    first = array.shape[0] if posted.kind == CONCATENATE and array.ndim else 0
    rest = array.shape[1:] if posted.kind == CONCATENATE else array.shape
    words = f"{array.nbytes}|{posted.kind} of {array.dtype.name} {list(rest)}"
    if posted.kind == BROADCAST:
        words += f" from instance {posted.root}"
    text = hashlib.sha256(posted.name.encode()).digest() + first.to_bytes(_LENGTH, "little") + words.encode()
    return np.frombuffer(text[:_HEADER].ljust(_HEADER, b"\0"), np.uint8).copy()


def _words(header: Array) -> str:
    return bytes(header[_DIGEST + _LENGTH :]).rstrip(b"\0").decode(errors="replace")


def _size(header: Array) -> int:
    return int(_words(header).partition("|")[0])


def _layout(header: Array) -> tuple[bytes, str]:
    return bytes(header[:_DIGEST]), _words(header).partition("|")[2]


def _difference(own: _Posted, headers: dict[int, Array]) -> Error | None:
    layouts = {position: _layout(header)[1] for position, header in sorted(headers.items())}
    if len({_layout(header) for header in headers.values()}) == 1:
        return None
    told = ", ".join(f"{layout} on instance {position}" for position, layout in layouts.items())
    return Error(
        f"Tensor layouts did not match on all instances: {own.name!r} is a {told}. All instances must exchange tensors "
        "of one name with the same operation, type and shape.",
        type=stack_layers.INSTANCE_ERROR,
    )


def _combined(own: _Posted, parts: list[Any]) -> Array:
    if own.kind == BROADCAST:
        result: Array = parts[own.root]
        return result
    if own.kind == STACK:
        return np.stack(parts)
    if own.kind == CONCATENATE:
        return np.concatenate(parts)
    total = parts[0].copy()
    for part in parts[1:]:
        # in the order of the instances, so that all get the same bits
        total = np.add(total, part, dtype=total.dtype)
    return np.asarray(total)
