"""Forwards the output of the instances in whole lines, tagged with instance and stream.

A thread reads all streams, writes `[1,<instance>]<stdout>:` before each line and changes nothing else. An unfinished
line (a progress bar, a prompt) is shown after a short time; each redraw after a carriage return gets the tag again.
The last lines of every instance are kept and shown if it fails.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import threading
import time
from collections import deque
from typing import Protocol

from tremula.launch.output_stream import OutputStream

#: lines of a failing instance that are shown again
LAST_LINES = 20
_MAX_LINE_KEPT = 2000
#: how long a line may stay unfinished before it is shown
_SHOW_AFTER_SECONDS = 0.15
_READ_BYTES = 1 << 18
#: an unfinished line that is longer is shown in parts
_MAX_PENDING = 1 << 20
_REDRAW = re.compile(rb"\r(?=[^\n])")


class Tail:
    """The last lines of an instance, of both its streams."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=LAST_LINES)

    def add(self, whole: bytes) -> None:
        """Keep the last of some finished lines."""
        self._lines.extend(
            line[-_MAX_LINE_KEPT:] for line in whole[:-1].rsplit(b"\n", LAST_LINES)[-LAST_LINES:]
        )

    def lines(self) -> list[str]:
        """The kept lines as text."""
        return [line.decode(errors="backslashreplace").rstrip("\r") for line in self._lines]


class Stream(Protocol):
    """Receives the data that is read from a descriptor."""

    @property
    def unfinished(self) -> bool:
        """Whether there is an unfinished line that has not been shown."""

    def feed(self, data: bytes) -> None:
        """Process data that was read."""

    def show_unfinished(self, *, force: bool = False) -> None:
        """Show an unfinished line that has waited long enough."""

    def finish(self) -> None:
        """Handle the end of the stream."""


class Lines:
    """One stream of one instance; `tag` stands before each line that is shown, `tail` keeps the last ones."""

    def __init__(self, tag: bytes, stream: OutputStream, *, shown: bool, tail: Tail) -> None:
        self._tag = tag
        self._stream = stream
        self._shown = shown
        self._tail = tail
        self._pending = b""
        self._waiting_since = 0.0

    @property
    def unfinished(self) -> bool:
        """Whether there is an unfinished line that has not been shown."""
        return bool(self._pending.rstrip(b"\r"))

    def feed(self, data: bytes) -> None:
        """Process data that was read."""
        if not self._pending:
            self._waiting_since = time.monotonic()
        data = self._pending + data
        cut = data.rfind(b"\n") + 1
        whole, self._pending = data[:cut], data[cut:]
        if whole:
            self._waiting_since = time.monotonic()
            self._tail.add(whole)
            if self._shown:
                self._stream.write(self._tagged(whole[:-1]) + b"\n", self)
        if len(self._pending) > _MAX_PENDING:
            self.show_unfinished(force=True)

    def show_unfinished(self, *, force: bool = False) -> None:
        """Show an unfinished line that has waited long enough."""
        if not self.unfinished or not (
            force or time.monotonic() - self._waiting_since >= _SHOW_AFTER_SECONDS
        ):
            return
        # a carriage return at the end may belong to a line end that is still to come
        held = b"\r" if self._pending.endswith(b"\r") else b""
        beginning = self._pending.removesuffix(held)
        self._pending = held
        if self._shown:
            self._stream.write(self._tagged(beginning), self, finished=False)

    def finish(self) -> None:
        """Handle the end of the stream."""
        if self._pending:
            self._tail.add(self._pending + b"\n")
            self.show_unfinished(force=True)
        if self._stream.left_open_by(self):
            self._stream.end_line()

    def _tagged(self, text: bytes) -> bytes:
        tag = self._tag
        if tag:
            text = text.replace(b"\n", b"\n" + tag)
            if b"\r" in text:
                text = _REDRAW.sub(lambda _: b"\r" + tag, text)
        return text if self._stream.left_open_by(self) else tag + text


class Pump:
    """The thread that reads all streams and closes their descriptors at the end."""

    def __init__(self, streams: list[tuple[int, Stream]]) -> None:
        self._streams = streams
        self._selector = selectors.DefaultSelector()
        for descriptor, stream in streams:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, stream)
        self._waker, self._wake = os.pipe()
        self._selector.register(self._waker, selectors.EVENT_READ, None)
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="poprun output", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def finish(self, timeout: float) -> bool:
        """Read the remaining output of ended instances, and stop. False if our own reader has not read all of it."""
        if not self._ending:
            self._ending = True
            os.write(self._wake, b".")
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ending:
            waiting = any(stream.unfinished for _, stream in self._streams)
            for key, _ in self._selector.select(_SHOW_AFTER_SECONDS / 2 if waiting else None):
                if key.data is not None:
                    self._read(key.fd, key.data)
            for _, stream in self._streams:
                stream.show_unfinished()
        for descriptor, stream in self._streams:
            while self._read(descriptor, stream):
                pass
            stream.finish()
            os.close(descriptor)
        self._selector.close()

    def _read(self, descriptor: int, stream: Stream) -> bool:
        """Read once. False if there is nothing (more) to read."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            stream.feed(data)
            return True
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)
        return False
