"""The key-value store of a run on one host, as an instance sees it: a store for torch, without a look-up of names."""

from __future__ import annotations

import datetime
import json
import os
import socket
import threading
import time
from typing import Any, BinaryIO

from torch._C._distributed_c10d import Store

from tremula.distributed.local_store_server import LONGEST_REQUEST, LOOPBACK

_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.02
#: a server that is alive answers at once
_LONGEST_ANSWER_SECONDS = 60.0


class LocalStore(Store):
    """A client of LocalStoreServer. As in torch's stores, what goes wrong is a RuntimeError."""

    def __init__(self, address: str, seconds: float) -> None:
        """`address` is that of the server; raises RuntimeError if it cannot be reached in `seconds`."""
        self._connection: tuple[int, socket.socket, BinaryIO] | None = None
        super().__init__()
        self._port, _, self._token = address.partition(":")
        self._lock = threading.Lock()
        self.set_timeout(datetime.timedelta(seconds=seconds))
        self.check([])

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._ask("set", key, _text(value))

    def get(self, key: str) -> bytes:
        """The value of a key, when it has one; RuntimeError if that takes longer than the timeout."""
        self.wait([key])
        found = self._ask("get", key)
        return b"" if found is None else str(found).encode("latin-1")

    def add(self, key: str, value: int) -> int:
        """Add to a number; gives back the sum."""
        return int(self._ask("add", key, value))

    def check(self, keys: list[str]) -> bool:
        """Whether all keys have values."""
        return bool(self._ask("check", list(keys)))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a value if the key has the expected one; gives back the value that it has then."""
        found = self._ask("compare_set", key, _text(expected_value), _text(desired_value))
        return str(found).encode("latin-1")

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return bool(self._ask("delete", key))

    def num_keys(self) -> int:
        """How many keys have values."""
        return int(self._ask("count"))

    def wait(self, keys: list[str], timeout: datetime.timedelta | None = None) -> None:
        """Until all keys have values; RuntimeError if that takes longer than the timeout."""
        limit = self.timeout if timeout is None else timeout  # type: ignore[attr-defined]
        stop = time.monotonic() + limit.total_seconds()
        pause = _FIRST_PAUSE_SECONDS
        while not self.check(keys):
            if time.monotonic() > stop:
                raise RuntimeError(f"no value of {', '.join(keys)} within {limit.total_seconds():g} s")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    # torch's wrappers, such as PrefixStore, look for these names
    deleteKey = delete_key  # noqa: N815
    getNumKeys = num_keys  # noqa: N815

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return False

    def _ask(self, *request: Any) -> Any:
        line = json.dumps(request).encode() + b"\n"
        if len(line) > LONGEST_REQUEST:
            raise RuntimeError(f"{len(line)} bytes are too many for the launcher's store")
        with self._lock:
            try:
                channel, lines = self._connect()
                channel.sendall(line)
                answer = lines.readline()
                if not answer.endswith(b"\n"):
                    raise ConnectionError("it was closed")
            except (OSError, ValueError, OverflowError) as problem:
                self.close()
                raise RuntimeError(f"the launcher's store does not answer: {problem}") from None
            except BaseException:  # an interrupt: the answer must not be taken for that of the next request
                self.close()
                raise
        return json.loads(answer)

    def _connect(self) -> tuple[socket.socket, BinaryIO]:
        """The connection of this process, which a fork does not share."""
        seconds = min(self.timeout.total_seconds(), _LONGEST_ANSWER_SECONDS)  # type: ignore[attr-defined]
        if self._connection is None or self._connection[0] != os.getpid():
            self.close()
            channel = socket.create_connection((LOOPBACK, int(self._port)), timeout=seconds)
            self._connection = os.getpid(), channel, channel.makefile("rb")
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel.sendall(json.dumps(self._token).encode() + b"\n")
        _, channel, lines = self._connection
        channel.settimeout(seconds)
        return channel, lines

    def close(self) -> None:
        """Drop the connection; the next request makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection[2].close()
            connection[1].close()

    def __del__(self) -> None:
        self.close()


def _text(value: str | bytes) -> str:
    """Bytes as JSON can hold them; text is stored as UTF-8, as torch's stores do."""
    return (value.encode() if isinstance(value, str) else bytes(value)).decode("latin-1")
