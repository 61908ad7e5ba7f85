"""Assembles the output of mpirun into whole lines of each instance.

mpirun tags every piece as it arrives, so that the lines of several instances are mixed. This module adds each piece to
the line of its instance. Text without a tag comes from mpirun itself and may name the instance that failed first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from tremula.launch.output import Lines, Tail
from tremula.launch.output_stream import OutputStream

_TAG = re.compile(rb"\[\d+,(\d+)\]<(stdout|stderr)>:")
#: the end of what was read may be the beginning of a tag
_PART_OF_TAG = re.compile(rb"\[[0-9,]*(\][a-z<>]*)?\Z")
_FAILED = re.compile(r"Process name:\s+\[\[\d+,\d+\],(\d+)\]|process rank (\d+) with PID")


class Account:
    """The last output of each instance and of mpirun itself (`own`)."""

    def __init__(self) -> None:
        self.tails: defaultdict[int, Tail] = defaultdict(Tail)
        self.own = Tail()

    @property
    def failed(self) -> int | None:
        """The instance that failed first, if mpirun named one."""
        for line in self.own.lines():
            if named := _FAILED.search(line):
                return int(named[1] or named[2])
        return None


class TaggedOutput:
    """One of mpirun's two streams; `shows` says whether a stream of an instance is shown."""

    def __init__(self, stream: OutputStream, account: Account, shows: Callable[..., bool]) -> None:
        self._stream = stream
        self._account = account
        self._shows = shows
        self._lines: dict[bytes, Lines] = {}
        self._own = Lines(b"", stream, shown=True, tail=account.own)
        self._current = self._own
        self._held = b""

    @property
    def unfinished(self) -> bool:
        """Whether there is the beginning of a line that has not been shown."""
        return any(lines.unfinished for lines in self._all())

    def feed(self, data: bytes) -> None:
        """Take pieces."""
        data = self._held + data
        part = _PART_OF_TAG.search(data[-64:])
        cut = len(data) - (len(part[0]) if part else 0)
        data, self._held = data[:cut], data[cut:]
        at = 0
        for tag in _TAG.finditer(data):
            self._take(data[at : tag.start()])
            self._current = self._of(tag)
            at = tag.end()
        self._take(data[at:])

    def show_unfinished(self, *, force: bool = False) -> None:
        """Show beginnings of lines that have waited long enough."""
        for lines in self._all():
            lines.show_unfinished(force=force)

    def finish(self) -> None:
        """Nothing more comes."""
        self._take(self._held)
        self._held = b""
        for lines in self._all():
            lines.finish()

    def _take(self, piece: bytes) -> None:
        """A piece of the current line, then, behind its end, lines of mpirun's own."""
        ours, end, rest = piece.partition(b"\n")
        if ours or end:
            self._current.feed(ours + end)
        if end:
            self._current = self._own
        if rest:
            self._own.feed(rest)

    def _of(self, tag: re.Match[bytes]) -> Lines:
        found = self._lines.get(tag[0])
        if found is None:
            index = int(tag[1])
            shown = self._shows(index, stdout=tag[2] == b"stdout")
            found = Lines(tag[0], self._stream, shown=shown, tail=self._account.tails[index])
            self._lines[tag[0]] = found
        return found

    def _all(self) -> list[Lines]:
        return [self._own, *self._lines.values()]
