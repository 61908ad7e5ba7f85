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
from typing import IO, Any

from fuzz.tally import Kind
from fuzz.target import Events, LeftBehindError, Target
from fuzz.watch import Watch

#: address space: a size that is believed before it is checked fails here
_MOST_BYTES = 24 << 30
_MOST_SECONDS = 60


def main(name: str, seed: int, first: int, count: int, folder: Path) -> None:
    """Try the cases `first` to `first + count`; the file of a case that is under way is `case` in `folder`."""
    from fuzz.targets import find

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    target = find(name)
    cases = [(number, random.Random(f"{seed} {name} {number}")) for number in range(first, first + count)]
    if isinstance(target, Events):
        # what the processes of a case print goes to stderr; the lines for the runner keep their pipe
        with os.fdopen(os.dup(1), "w") as out:
            os.dup2(2, 1)
            _try_events(target, cases, folder, out)
    else:
        _try_files(target, cases, folder, sys.stdout)


def _try_files(target: Target, cases: list[tuple[int, random.Random]], folder: Path, out: IO[str]) -> None:
    valid = [path.read_bytes() for path in sorted((folder / "valid").iterdir())]
    refusals = target.refusals()
    if not target.guarded:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    watch = Watch(folder)
    for number, rng in cases:
        case = folder / "case"
        case.write_bytes(target.mutate(rng.choice(valid), rng))
        _say(out, number=number, state="begun")
        faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True)
        kind, problem = Kind.WRONG, ""
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
            state, (kind, problem) = "failed", _judged(other)
        finally:
            watch.active = False
        if "\x1b" in printed.getvalue():
            problem = "an escape sequence of the file was printed"
        if watch.seen:
            kind, problem = watch.seen[0][0], "; ".join(text for _, text in watch.seen[:3])
            watch.seen.clear()
        faulthandler.cancel_dump_traceback_later()
        _say(out, number=number, state="failed" if problem else state, kind=kind, problem=problem[:400])


def _try_events(target: Events, cases: list[tuple[int, random.Random]], folder: Path, out: IO[str]) -> None:
    attempt = target.begin(folder)
    outside = folder / "outside"
    for number, rng in cases:
        _say(out, number=number, state="begun")
        faulthandler.dump_traceback_later(target.seconds, exit=True)
        kind, problem, sort = Kind.WRONG, "", ""
        try:
            sort = attempt(number, rng)
        except BaseException as other:
            kind, problem = _judged(other)
        if outside.exists():
            kind, problem = Kind.OUTSIDE, "; ".join(outside.read_text(encoding="utf-8").splitlines()[:3])
            outside.unlink()
        faulthandler.cancel_dump_traceback_later()
        _say(
            out,
            number=number,
            state="failed" if problem else "survived",
            sort=sort,
            kind=kind,
            problem=problem[:400],
        )


def _judged(problem: BaseException) -> tuple[Kind, str]:
    text = f"{type(problem).__name__}: {problem}"
    if isinstance(problem, LeftBehindError):
        return Kind.LEFT, text
    return (Kind.WRONG if isinstance(problem, AssertionError) else Kind.CRASH), text


def _say(out: Any, **fields: Any) -> None:
    out.write(json.dumps(fields) + "\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
