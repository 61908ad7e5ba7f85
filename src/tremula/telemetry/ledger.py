"""The run ledger: which wrapped models really ran, in this process and in the ones before it.

A program that wraps a model and then goes on calling the plain one gets plausible numbers that never went
through the emulated stack. So each wrapped model counts its calls; when the process ends, a few lines say
what ran and where the time went, a warning names what did not run, and a short record goes to a file that
`tremula doctor` reads. Nothing depends on that file.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import Timeout

from tremula import log, private_files
from tremula.atomic_files import write_text_atomically
from tremula.errors import Error
from tremula.private_files import Untrusted
from tremula.settings import env
from tremula.settings.directories import state_directory
from tremula.telemetry.run_record import MAX_TEXT, Entry, Run, parsed
from tremula.telemetry.run_summary import summary

__all__ = [
    "Entry", "Run", "append", "count_data_wait", "current", "read", "state_file", "summary", "wrapped",
]  # fmt: skip

#: how many runs the file keeps, and how much of it is ever read
MAX_RUNS = 200
MAX_BYTES = 1 << 20

_current: Run | None = None
#: seconds waited for data and items handed out, in this process
_data_wait: Callable[[], tuple[float, int]] = lambda: (0.0, 0)  # noqa: E731


def wrapped(kind: str, model_name: str) -> Entry:
    """Note that a model was wrapped; `kind` says with what. The executor keeps the entry and counts on it."""
    global _current
    if _current is None or _current.pid != os.getpid():  # a forked child starts its own record
        _current = Run(_program_name(), os.getpid(), time.time())
        atexit.register(_at_exit, _current)
    entry = Entry(kind, model_name[:MAX_TEXT])
    _current.models.append(entry)
    return entry


def count_data_wait(source: Callable[[], tuple[float, int]]) -> None:
    """Ask `source` at the end of the run for the seconds that the program waited for data, and the items."""
    global _data_wait
    _data_wait = source


def current() -> Run | None:
    """The record of this process, or None if it wrapped no model."""
    return _current


def state_file() -> Path:
    """Where the record of past runs is kept."""
    return state_directory() / "runs.jsonl"


def read(path: Path | None = None) -> list[Run]:
    """Past runs, oldest first. Lines that are not records of ours are left out."""
    try:
        with os.fdopen(private_files.open_to_read(path or state_file()), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_BYTES))
            lines = file.read(MAX_BYTES).splitlines()
    except Untrusted as problem:
        log.warn_once(
            "run ledger", f"The record of runs, {path or state_file()}, cannot be read: it is {problem}."
        )
        return []
    except OSError:
        return []
    runs = [run for line in lines if (run := parsed(line)) is not None]
    return runs[-MAX_RUNS:]


def append(run: Run, path: Path | None = None) -> None:
    """Add `run` to the file, which is replaced as a whole; the oldest runs drop out.

    It is readable by the user alone: it holds names of programs. Raises OSError if it cannot be written, Untrusted if
    another user could have planted what is there, Timeout if another process holds it.
    """
    target = path or state_file()
    private_files.make_directory(target.parent)
    with private_files.locked(target.with_suffix(".lock"), timeout=1):
        runs = [*read(target)[-(MAX_RUNS - 1) :], run]
        text = "".join(f"{each.as_line()}\n" for each in runs)
        write_text_atomically(target, text, permissions=0o600)


def _at_exit(run: Run) -> None:
    if os.getpid() != run.pid:
        return
    run.ended = time.time()
    torch: Any = sys.modules.get("torch")  # not imported here: a process that ran nothing has none
    run.threads = int(torch.get_num_threads()) if torch is not None else 0
    run.data_wait, run.items = _data_wait()
    failed = getattr(sys, "last_value", None) is not None
    try:
        asked = env.get("TREMULA_SUMMARY")
    except Error:  # an unreadable value was reported when the program could still act on it
        asked = None
    if asked is not False:
        talkative = asked or (sys.stderr is not None and sys.stderr.isatty())
        for level, text in summary(run, failed):
            if level > logging.INFO or talkative:
                _say(level, text)
    try:
        append(run)
    except (OSError, Timeout, Untrusted, ValueError) as error:
        with contextlib.suppress(Error):
            log.warn_once(
                "run ledger not written",
                f"The record of this run cannot be written to {state_file()} ({error}), so `tremula doctor` does not "
                "show the run. Results are the same.",
            )


def _say(level: int, text: str) -> None:
    """Write one log line at any log level; TREMULA_SUMMARY=0 switches these lines off."""
    try:
        layer = log.layer("tremula")
        layer.handle(layer.makeRecord(layer.name, level, __file__, 0, text, (), None))
    except (Error, OSError, ValueError):  # an unreadable log level, a closed stderr
        return


def _program_name() -> str:
    program = sys.argv[0] if sys.argv and sys.argv[0] else "(interactive)"
    return program[:MAX_TEXT]
