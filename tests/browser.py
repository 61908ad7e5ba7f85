"""A browser without a window, driven by the DevTools protocol over two pipes; and texts that mean it harm."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
)
#: the browser reads from descriptor 3 and writes to descriptor 4
_LAUNCHER = (
    "import os, sys; reads, writes = (os.dup(int(n)) for n in sys.argv[1:3]); "
    "reads, writes = os.dup(reads), os.dup(writes); os.dup2(reads, 3); os.dup2(writes, 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
#: events that a page without faults does not cause
_FAULTS = (
    "Runtime.exceptionThrown",
    "Log.entryAdded",
    "Page.javascriptDialogOpening",
    "Network.loadingFailed",
)
_PATIENCE = 60.0

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>document.title='taken'</script>",
    "<!--<script>",
    "\x1b[2J\x1b]0;owned\x07 red\x1b[31m",
    "line\nbreak\rand\x00nul\u202eturned\u2028",
    "x" * 10_000,
    "${alert(1)} {{7*7}} &lt;b&gt; %s",
    "__proto__",
    "@DATA@ @SCRIPT@",
)


class Browser:
    """One tab at a time, a new one for each page: what an earlier page still does is not this one's."""

    def __init__(self, executable: str, folder: Path) -> None:
        reads, self._out = os.pipe()
        self._in, writes = os.pipe()
        command = [executable, *_FLAGS.split(), f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, str(reads), str(writes), *command],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        self._session = self._target = ""

    def _new_tab(self) -> None:
        self._session = ""
        if self._target:
            self.call("Target.closeTarget", targetId=self._target)
        self._target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self.events.clear()
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do something in the tab and wait for the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser is gone"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        if "method" in found and found.get("sessionId") == self._session:
            self.events.append(found)
        return found

    def open(self, page: Path | str, fragment: str = "") -> None:
        """Load a page, from disk or from an address, and wait until it is drawn."""
        self._new_tab()
        address = page if isinstance(page, str) else page.as_uri()
        self.call("Page.navigate", url=address + fragment)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()
        self.settle()

    def settle(self) -> None:
        """Wait for two frames."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def faults(self) -> list[str]:
        """Errors in the console, exceptions, dialogs."""
        found = []
        for event in self.events:
            if event["method"] in _FAULTS:
                found.append(json.dumps(event["params"])[:2000])
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in (
                "error",
                "warning",
            ):
                found.append(json.dumps(event["params"]["args"])[:2000])
        return found

    def requests(self) -> list[str]:
        """Addresses that the tab asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._in)
        os.close(self._out)
