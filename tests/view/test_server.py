"""The server of pages: it answers the browser that was given its address, and nobody else."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tremula.errors import Error
from tremula.view.server import NotFound, Page, ViewServer


def _route(words: tuple[str, ...], parameters: Any) -> Any:
    if words == ():
        return Page("<!doctype html><title>page</title>", "default-src 'none'")
    if words == ("api", "thread"):
        return threading.current_thread().name
    if words == ("api", "echo"):
        return dict(parameters)
    if words == ("api", "bad"):
        raise Error("The file is damaged.")
    if words == ("api", "fault"):
        raise KeyError("x")
    raise NotFound


@pytest.fixture(scope="module")
def server() -> Iterator[ViewServer]:
    with ViewServer(_route) as running:
        yield running


def _get(
    server: ViewServer, path: str, *, token: bool = True, method: str = "GET", **headers: str
) -> tuple[int, Any, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        named.setdefault("Authorization", f"Bearer {server.token}")
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    content = json.loads(body) if answer.headers.get("Content-Type") == "application/json" and body else body
    return answer.status, content, answer.headers


def test_it_listens_on_the_loopback_address_alone(server: ViewServer) -> None:
    assert server._server.server_address[0] == "127.0.0.1"
    assert server.address.startswith(f"http://127.0.0.1:{server.port}/?token=")
    assert len(server.token) >= 32


def test_the_address_sets_a_cookie_and_loses_the_token(server: ViewServer) -> None:
    status, _, headers = _get(server, f"/?token={server.token}", token=False)
    assert status == 303
    assert headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    status, body, headers = _get(server, "/", token=False, Cookie=f"other=1; {cookie}")
    assert status == 200
    assert body.startswith(b"<!doctype html>")
    assert headers["Content-Security-Policy"] == "default-src 'none'"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/", "/api/echo", "/nothing", "/api/bad", "/?token=", "/api/echo?token=wrong"]
)
def test_without_the_token_everything_is_refused(server: ViewServer, path: str) -> None:
    status, body, _ = _get(server, path, token=False)
    assert status == 403
    assert "token" in body["error"]
    assert _get(server, path, token=False, Authorization="Bearer wrong")[0] == 403
    assert _get(server, path, token=False, Cookie=f"tremula-{server.port}=wrong")[0] == 403
    assert _get(server, path, token=False, Cookie="=;;\x01=; a")[0] == 403


@pytest.mark.parametrize(
    "host",
    ["example.org", "127.0.0.1.example.org", "127.0.0.1:80@evil", "0.0.0.0", "localhost.evil:1", "", ":80"],
)
def test_a_foreign_host_name_is_refused(server: ViewServer, host: str) -> None:
    assert _get(server, "/api/echo", Host=host)[0] == 421


@pytest.mark.parametrize("host", ["127.0.0.1:9999", "localhost", "LOCALHOST:1", "[::1]:8", "[::1]"])
def test_a_forwarded_port_is_accepted(server: ViewServer, host: str) -> None:
    assert _get(server, "/api/echo", Host=host)[0] == 200


def test_other_pages_and_other_methods_are_refused(server: ViewServer) -> None:
    assert _get(server, "/api/echo", Sec_Fetch_Site="cross-site")[0] == 403
    assert _get(server, "/api/echo", Sec_Fetch_Site="same-origin")[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert _get(server, "/api/echo", method=method)[0] == 501
    status, body, headers = _get(server, "/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/../../x", "/api/echo/..%2f"],
)
def test_paths_name_answers_and_no_files(server: ViewServer, path: str) -> None:
    status, body, _ = _get(server, path)
    assert status == 404
    assert "root:" not in str(body)


def test_problems_are_told_and_the_server_goes_on(server: ViewServer) -> None:
    assert _get(server, "/api/bad")[:2] == (422, {"error": "The file is damaged."})
    status, body, _ = _get(server, "/api/fault")
    assert status == 500
    assert "Please report it" in body["error"]
    assert _get(server, "/" + "a" * 5000)[0] == 414
    assert _get(server, "/api/echo?a=1&b=%3Cb%3E")[:2] == (200, {"a": "1", "b": "<b>"})


def test_idle_connections_do_not_block_others(server: ViewServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
    idle[0].sendall(b"GET /api/echo HTTP/1.1\r\nHost: ")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: _get(server, "/api/thread"), range(32)))
    assert {status for status, _, _ in found} == {200}
    assert len({name for _, name, _ in found}) == 1  # one thread reads files
    for each in idle:
        each.close()


def test_a_taken_port_is_told(server: ViewServer) -> None:
    with pytest.raises(Error, match="--port"):
        ViewServer(_route, port=server.port)
