"""Notes what a process starts, and what it writes outside of the folder that it was given."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from fuzz.tally import Kind

#: events of the interpreter that mean that code, or a program, was started
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class")
_WRITES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
)
#: where any process may write: nothing of it stays on a disk
_ANYWHERE = ("/dev/null/", "/dev/tty/", "/dev/shm/", "/proc/")


class Watch:
    """Looks at every open, rename and start of this process, and of those that it forks, while `active`.

    Attributes:
        seen: the kind of failure, and what was done.
    """

    def __init__(self, folder: Path, record: Path | None = None) -> None:
        """With `record`, writes alone are noted, in that file: processes that are killed cannot tell."""
        self._folder = os.path.realpath(folder)
        self._record = record
        self.active = False
        self.seen: list[tuple[Kind, str]] = []
        sys.addaudithook(self._event)

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in _STARTS:
            if self._record is None:
                self.seen.append((Kind.STARTED, f"{event} {args[:2]!r:.100}"))
        elif event == "open" and args[0] is not None and not isinstance(args[0], int):
            if args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._wrote(event, args[0])
        elif event in _WRITES:
            for each in args[:2] if event in ("os.rename", "os.link", "os.symlink") else args[:1]:
                self._wrote(event, each)

    def _wrote(self, event: str, path: Any) -> None:
        if isinstance(path, int):
            return
        where = os.path.realpath(os.fspath(path))
        where = where.decode(errors="replace") if isinstance(where, bytes) else where
        if f"{where}/".startswith((f"{self._folder}/", *_ANYWHERE)):
            return
        text = f"{event} {where[:100]!r}"
        if self._record is None:
            self.seen.append((Kind.OUTSIDE, text))
            return
        with contextlib.suppress(OSError), open(self._record, "a", encoding="utf-8") as record:
            record.write(text + "\n")
