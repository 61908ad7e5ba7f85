"""Serves pages and their data to a browser of this machine: loopback only, with a token.

Every request must carry the token, as a cookie or as `Authorization: Bearer`. The address that is printed holds the
token; the server sets the cookie and redirects to an address without it. Requests for another host name are refused, so
that a foreign page cannot reach the server through a name that resolves to the loopback address. Only GET and HEAD are
answered, and paths name answers, never files.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tremula.errors import Error

LOOPBACK = "127.0.0.1"
#: host names that a browser on this machine, or behind a forwarded port, gives
_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_BEARER = "Bearer "
_LONGEST_PATH = 4_096
#: seconds after which a connection without a request is closed
_IDLE_SECONDS = 30.0

Parameters = Mapping[str, str]
#: what answers a request: a page as text, or data as a JSON value
Route = Callable[[tuple[str, ...], Parameters], "Page | Any"]


class NotFound(Exception):
    """There is nothing of that name."""


@dataclass(frozen=True)
class Page:
    """A page with its content security policy."""

    html: str
    policy: str


@dataclass
class ViewServer:
    """A server for one browser; `address` opens it. Also a context manager that answers in the background."""

    route: Route
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def __post_init__(self) -> None:
        try:
            self._server = _Server((LOOPBACK, self.port), _Handler)
        except OSError as problem:
            raise Error(
                f"Port {self.port} of {LOOPBACK} cannot be used: {problem.strerror}. Choose another port, or leave out "
                "--port to use a free one.",
                type="view_error",
            ) from None
        self._server.view = self
        self.port = self._server.server_address[1]
        # one thread reads files: a connection of SQLite belongs to the thread that opened it
        self._reader = ThreadPoolExecutor(1, "tremula-view")

    @property
    def address(self) -> str:
        """The address with the token."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers share cookies between ports."""
        return f"tremula-{self.port}"

    def serve(self) -> None:
        """Answer until `close` or an interrupt."""
        self._server.serve_forever(poll_interval=0.2)

    def run(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, on the thread that reads files."""
        done: Future[Any] = self._reader.submit(work)
        return done.result()

    def close(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._reader.shutdown(cancel_futures=True)

    def __enter__(self) -> ViewServer:
        threading.Thread(target=self.serve, name="tremula-view-server", daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    view: ViewServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "tremula"
    sys_version = ""
    timeout = _IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not printed."""

    def _answer(self, *, with_body: bool) -> None:
        view = self.server.view
        if len(self.path) > _LONGEST_PATH:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, "The address is too long.", with_body)
            return
        if not _is_loopback_host(self.headers.get_all("Host") or []):
            self._refuse(
                HTTPStatus.MISDIRECTED_REQUEST, "This server accepts requests for 127.0.0.1 only.", with_body
            )
            return
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            self._refuse(HTTPStatus.FORBIDDEN, "Requests from other pages are refused.", with_body)
            return
        parts = urlsplit(self.path)
        parameters = dict(parse_qsl(parts.query, max_num_fields=40))
        given = parameters.pop("token", "")
        if given and self._is_token(given) and parts.path in ("/", "/system"):
            self._redirect(parts.path, view)
            return
        if not (self._is_token(given) or self._has_token(view)):
            self._refuse(
                HTTPStatus.FORBIDDEN,
                "The token is missing or wrong. Open the address that was printed.",
                with_body,
            )
            return
        words = tuple(word for word in parts.path.split("/") if word)
        try:
            found = view.run(lambda: view.route(words, parameters))
        except NotFound as missing:
            self._refuse(HTTPStatus.NOT_FOUND, str(missing) or "Not found.", with_body)
        except (Error, ValueError) as problem:
            self._refuse(
                HTTPStatus.UNPROCESSABLE_ENTITY, str(getattr(problem, "message", problem)), with_body
            )
        except Exception as problem:  # the page shows it; the next request is answered
            told = f"Internal error of the viewer ({type(problem).__name__}: {problem}). Please report it."
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, told, with_body)
        else:
            self._send(found, with_body)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.server.view.token.encode())

    def _has_token(self, view: ViewServer) -> bool:
        given = self.headers.get("Authorization", "")
        if given.startswith(_BEARER) and self._is_token(given.removeprefix(_BEARER)):
            return True
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(view.cookie)
        except CookieError:
            return False
        return found is not None and self._is_token(found.value)

    def _redirect(self, path: str, view: ViewServer) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", path)
        self.send_header("Set-Cookie", f"{view.cookie}={view.token}; HttpOnly; SameSite=Strict; Path=/")
        self._finish(b"", "text/plain", with_body=True)

    def _send(self, found: Page | Any, with_body: bool) -> None:
        self.send_response(HTTPStatus.OK)
        if isinstance(found, Page):
            self.send_header("Content-Security-Policy", found.policy)
            self._finish(found.html.encode("utf-8"), "text/html; charset=utf-8", with_body=with_body)
        else:
            body = found if isinstance(found, bytes) else _json(found)
            self._finish(body, "application/json", with_body=with_body)

    def _refuse(self, status: HTTPStatus, why: str, with_body: bool) -> None:
        self.send_response(status)
        self._finish(_json({"error": why}), "application/json", with_body=with_body)

    def _finish(self, body: bytes, kind: str, *, with_body: bool) -> None:
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _is_loopback_host(hosts: list[str]) -> bool:
    """Whether the one Host header names the loopback address; the port is free, as it may be forwarded."""
    if len(hosts) != 1:
        return False
    name, colon, port = hosts[0].strip().rpartition(":")
    if not colon or name.endswith(":") or (hosts[0].startswith("[") and hosts[0].endswith("]")):
        name, port = hosts[0].strip(), "80"
    return name.lower() in _HOSTS and port.isascii() and port.isdigit()
