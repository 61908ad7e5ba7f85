"""Channels: named groups of points that are switched on and off together, each with one flag that a point looks at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from tremula.trace.names import DRIVERS, FRAMEWORK, POPLAR


class Channel:
    """A named group of points. There is one object per name; see `channel`.

    Attributes:
        name: its name.
        number: among the channels of this process; see `by_number`.
        on: whether points of this channel are recorded now.
    """

    __slots__ = ("_wanted", "name", "number", "on")

    def __init__(self, name: str, number: int) -> None:
        self.name: Final = name
        self.number: Final = number
        self._wanted = True
        self.on = False

    def __reduce__(self) -> tuple[Callable[[str], Channel], tuple[str]]:
        return channel, (self.name,)  # another process has its own

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {'on' if self.on else 'off'})"


_lock = threading.Lock()
_channels: dict[str, Channel] = {}
_by_number: list[Channel] = []
#: whether this process records
_recording = False
#: the only channels that are recorded; none named: all
_chosen: frozenset[str] = frozenset()


def channel(name: str) -> Channel:
    """The channel of this name, which is made if it is new."""
    with _lock:
        found = _channels.get(name)
        if found is None:
            found = Channel(name, len(_by_number))
            found._wanted = not _chosen or name in _chosen
            found.on = _recording and found._wanted
            _channels[name] = found
            _by_number.append(found)
        return found


def switch(which: Channel, wanted: bool) -> None:
    """Switch one channel on or off; while nothing is recorded, it is off in any case."""
    with _lock:
        which._wanted = wanted
        which.on = _recording and wanted


def by_number(number: int) -> Channel:
    """The channel with this number."""
    return _by_number[number]


def listed() -> list[Channel]:
    """All channels, in the order in which they were made."""
    with _lock:
        return list(_channels.values())


def record(recording: bool, chosen: frozenset[str] | None = None) -> None:
    """Begin or end recording; `chosen`, if given, are the only channels that are recorded (none named: all)."""
    global _recording, _chosen
    with _lock:
        _recording = recording
        if chosen is not None:
            _chosen = chosen
            for each in _channels.values():
                each._wanted = not chosen or each.name in chosen
        for each in _channels.values():
            each.on = recording and each._wanted


def recording() -> bool:
    """Whether this process records."""
    return _recording


drivers, poplar, framework = (channel(name) for name in (DRIVERS, POPLAR, FRAMEWORK))
