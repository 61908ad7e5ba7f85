"""A process that tries a batch of cases of one target; started by `runner`, one line of JSON for each step."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

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
#: address space: a size that is believed before it is checked fails here
_MOST_BYTES = 24 << 30
_MOST_SECONDS = 60


class Watch:
    """Notes what a case starts, and what it writes outside of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.realpath(folder)
        self.active = False
        self.seen: list[str] = []
        sys.addaudithook(self._event)

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in _STARTS:
            self.seen.append(f"{event} {args[:2]!r:.100}")
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
        if not where.startswith((self._folder, "/dev/null", "/proc/", "/dev/shm/")):
            self.seen.append(f"{event} {where[:100]!r}")


def main(name: str, seed: int, first: int, count: int, folder: Path) -> None:
    """Try the cases `first` to `first + count`; the file of a case that is under way is `case` in `folder`."""
    from fuzz.targets import TARGETS

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    target = TARGETS[name]()
    out = sys.stdout
    valid = [path.read_bytes() for path in sorted((folder / "valid").iterdir())]
    refusals = target.refusals()
    if not target.guarded:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    watch = Watch(folder)
    for number in range(first, first + count):
        rng = random.Random(f"{seed} {name} {number}")
        case = folder / "case"
        case.write_bytes(target.mutate(rng.choice(valid), rng))
        _say(out, number=number, state="begun")
        faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True)
        problem = ""
        printed = io.StringIO()
        watch.active = True
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                target.read(case)
            state = "read"
        except refusals as refused:
            state = "refused"
            if target.names_file and str(case) not in str(refused):
                problem = f"does not name the file: {refused}"
            if "\x1b" in str(refused):
                problem = f"has an escape byte: {str(refused)!r}"
        except BaseException as other:
            state, problem = "failed", f"{type(other).__name__}: {other}"
        finally:
            watch.active = False
        if "\x1b" in printed.getvalue():
            problem = "an escape sequence of the file was printed"
        if watch.seen:
            problem = "; ".join(watch.seen[:3])
            watch.seen.clear()
        faulthandler.cancel_dump_traceback_later()
        _say(out, number=number, state="failed" if problem else state, problem=problem[:400])


def _say(out: Any, **fields: Any) -> None:
    out.write(json.dumps(fields) + "\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
