"""The key-value store of a run on one host, as the launcher serves it.

Torch's own store would do, but each of its clients asks the name server for the name of the address that it has
connected to. This one listens at the loopback address and looks nothing up. A request and its answer are one line of
JSON each; bytes are in it as Latin-1 text. A client has to begin with the token of the run.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import threading
from typing import Any

#: bytes of a request; what instances exchange is far below
LONGEST_REQUEST = 1 << 24
LOOPBACK = "127.0.0.1"


class LocalStoreServer:
    """A store that is open while the launcher lives."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._token = secrets.token_hex(16)
        self._server = _Server((LOOPBACK, 0), _Connection)
        self._server.store = self
        threading.Thread(target=self._server.serve_forever, name="local-store", daemon=True).start()

    @property
    def address(self) -> str:
        """What a client needs: the port and the token."""
        return f"{self._server.server_address[1]}:{self._token}"

    def peek(self, key: str) -> bytes | None:
        """The value of a key, if it has one."""
        with self._lock:
            return self._values.get(key)

    def close(self) -> None:
        """End it; clients find their connections closed."""
        self._server.shutdown()
        self._server.server_close()

    def admits(self, token: object) -> bool:
        """Whether a client gave the token of the run."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self._token.encode())

    def answer(self, request: Any) -> Any:
        """Do what a request asks for; raises ValueError, TypeError or KeyError if it is none."""
        word, *rest = request
        with self._lock:
            return _REQUESTS[word](self._values, *rest)


def _set(values: dict[str, bytes], key: str, value: str) -> None:
    values[key] = value.encode("latin-1")


def _get(values: dict[str, bytes], key: str) -> str | None:
    return values[key].decode("latin-1") if key in values else None


def _compare_set(values: dict[str, bytes], key: str, expected: str, wanted: str) -> str:
    """The value afterwards; as torch's stores do, a missing key counts as an empty value."""
    if values.get(key, b"") == expected.encode("latin-1"):
        values[key] = wanted.encode("latin-1")
    return values[key].decode("latin-1") if key in values else expected


def _add(values: dict[str, bytes], key: str, number: int) -> int:
    total = int(values.get(key, b"0")) + int(number)
    values[key] = str(total).encode()
    return total


def _check(values: dict[str, bytes], keys: list[str]) -> bool:
    return all(key in values for key in keys)


def _delete(values: dict[str, bytes], key: str) -> bool:
    return values.pop(key, None) is not None


def _count(values: dict[str, bytes]) -> int:
    return len(values)


_REQUESTS: dict[str, Any] = {
    "set": _set,
    "get": _get,
    "compare_set": _compare_set,
    "add": _add,
    "check": _check,
    "delete": _delete,
    "count": _count,
}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 4096
    store: LocalStoreServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is not an error in the launcher."""


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer the requests of one client; a line that is none ends the connection."""
        store = self.server.store  # type: ignore[attr-defined]
        if not store.admits(self._read()):
            return
        while (request := self._read()) is not None:
            try:
                answer = store.answer(request)
            except (ValueError, TypeError, KeyError, AttributeError):
                return
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    def _read(self) -> Any:
        """The next line; None at the end, or if it is too long or not JSON."""
        line = self.rfile.readline(LONGEST_REQUEST + 1)
        if not line.endswith(b"\n"):
            return None
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return None
