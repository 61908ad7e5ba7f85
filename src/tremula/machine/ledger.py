"""The run ledger: which wrapped models really ran, in this process and in the ones before it.

A program that wraps a model and then goes on calling the plain one gets plausible numbers that never went
through the emulated stack. So each wrapped model counts its calls; when the process ends, one line says
what ran, a warning names what did not, and a short record goes to a file that `tremula doctor` reads.
The file is a convenience: nothing depends on it, and what is read back is checked line by line.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from tremula import log
from tremula.errors import Error
from tremula.settings import env

#: how many runs the file keeps, and how much of it is ever read
MAX_RUNS = 200
MAX_BYTES = 1 << 20
#: how many models one run's record (and its end-of-run lines) may name
MAX_MODELS = 20
_MAX_NAME = 200


@dataclass
class Entry:
    """One wrapped model. The counters are plain integers: counting costs nothing beside a call."""

    kind: str
    model: str
    calls: int = 0
    samples: int = 0
    compiles: int = 0
    compile_seconds: float = 0.0
    ipus: int = 1
    failures: int = 0

    def failed(self) -> None:
        """Count a call that ended with an error before anything was compiled."""
        self.failures += 1

    def executed(self, calls: int = 1, samples: int = 0) -> None:
        """Count calls that computed something, and the samples that they saw."""
        self.calls += calls
        self.samples += samples

    def compiled(self, seconds: float, ipus: int = 1) -> None:
        """Count a compilation, and note how many virtual IPUs its program uses."""
        self.compiles += 1
        self.compile_seconds += seconds
        self.ipus = ipus


@dataclass
class Run:
    """One process that wrapped models."""

    program: str
    pid: int
    started: float
    ended: float = 0.0
    threads: int = 0  # host threads that computed; 0 if unknown
    models: list[Entry] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Calls executed, all models together."""
        return sum(entry.calls for entry in self.models)


_current: Run | None = None


def wrapped(kind: str, model_name: str) -> Entry:
    """Note that a model was wrapped; the executor keeps the entry and counts on it.

    Args:
        kind: the function that wrapped it, such as `trainingModel`.
        model_name: the class name of the user's model.
    """
    global _current
    if _current is None or _current.pid != os.getpid():  # a forked child starts its own record
        _current = Run(_program_name(), os.getpid(), time.time())
        atexit.register(_at_exit, _current)
    entry = Entry(kind, model_name[:_MAX_NAME])
    _current.models.append(entry)
    return entry


def current() -> Run | None:
    """The record of this process, or None if it wrapped no model."""
    return _current


def state_file() -> Path:
    """Where the record of past runs is kept."""
    directory = env.get("TREMULA_STATE_DIR") or platformdirs.user_state_dir("tremula", appauthor=False)
    return Path(directory) / "runs.jsonl"


def read(path: Path | None = None) -> list[Run]:
    """Past runs, oldest first. Lines that are not records of ours are left out."""
    try:
        with open(path or state_file(), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_BYTES))
            lines = file.read(MAX_BYTES).splitlines()
    except OSError:
        return []
    runs = [run for line in lines if (run := _parse(line)) is not None]
    return runs[-MAX_RUNS:]


def append(run: Run, path: Path | None = None) -> None:
    """Add `run` to the file, which is replaced as a whole; the oldest runs drop out.

    Raises:
        OSError: the file cannot be written.
        Timeout: another process holds the file.
    """
    target = path or state_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock"), timeout=1):
        runs = [*read(target)[-(MAX_RUNS - 1) :], _merged(run)]
        text = "".join(json.dumps(asdict(each), separators=(",", ":")) + "\n" for each in runs)
        draft = target.with_suffix(f".{os.getpid()}.tmp")
        try:
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)


def summary(run: Run, failed: bool = False) -> Iterator[tuple[int, str]]:
    """What to say about `run` at its end: pairs of log level and text.

    Args:
        run: the process's record.
        failed: the program ended with an error; then a model that never ran is no surprise.
    """
    models = _merged(run).models
    for entry in models:
        name = f"{entry.kind} {entry.model}"
        if entry.calls:
            samples = f" ({_count(entry.samples, 'sample')})" if entry.samples else ""
            place = f"{_count(entry.ipus, 'virtual IPU')} (host CPU)"
            yield logging.INFO, f"{name} executed {_count(entry.calls, 'call')}{samples} on {place}"
        elif entry.compiles:
            yield logging.INFO, f"{name} was compiled in {entry.compile_seconds:.1f} s and not executed"
        elif entry.failures:
            yield (
                logging.INFO,
                f"{name} could not be compiled: {_count(entry.failures, 'call')} ended with an error",
            )
        elif not failed:
            yield (
                logging.WARNING,
                f"{name} was wrapped but never executed: whatever numbers you saw from this model came "
                f"from plain PyTorch on the host; call the object that {entry.kind} returned",
            )


def _at_exit(run: Run) -> None:
    if os.getpid() != run.pid:
        return
    run.ended = time.time()
    torch: Any = sys.modules.get("torch")  # not imported here: a process that ran nothing has none
    run.threads = int(torch.get_num_threads()) if torch is not None else 0
    failed = getattr(sys, "last_value", None) is not None
    try:
        said = env.get("TREMULA_SUMMARY")
        asked = env.is_set("TREMULA_SUMMARY")
    except Error:  # an unreadable value was reported when the program could still act on it
        said, asked = True, False
    if said:
        talkative = asked or (sys.stderr is not None and sys.stderr.isatty())
        for level, text in summary(run, failed):
            if level > logging.INFO or talkative:
                _say(level, text)
    try:
        append(run)
    except (OSError, Timeout, ValueError) as error:
        with contextlib.suppress(Error):
            log.layer("tremula").debug("the run ledger was not written: %s", error)


def _say(level: int, text: str) -> None:
    """One line of our log, whatever its level: who wants none sets TREMULA_SUMMARY=0."""
    try:
        layer = log.layer("tremula")
        layer.handle(layer.makeRecord(layer.name, level, __file__, 0, text, (), None))
    except (Error, OSError, ValueError):  # an unreadable log level, a closed stderr
        return


def _merged(run: Run) -> Run:
    """`run` with one entry for each kind and model, and no more than `MAX_MODELS`."""
    merged: dict[tuple[str, str], Entry] = {}
    for entry in run.models:
        total = merged.setdefault((entry.kind, entry.model), Entry(entry.kind, entry.model))
        total.calls += entry.calls
        total.samples += entry.samples
        total.compiles += entry.compiles
        total.compile_seconds += entry.compile_seconds
        total.ipus = max(total.ipus, entry.ipus)
        total.failures += entry.failures
    models = sorted(merged.values(), key=lambda entry: entry.calls, reverse=True)[:MAX_MODELS]
    return Run(run.program, run.pid, run.started, run.ended, run.threads, models)


def _program_name() -> str:
    program = sys.argv[0] if sys.argv and sys.argv[0] else "(interactive)"
    return program[:_MAX_NAME]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _parse(line: bytes) -> Run | None:
    """The run that `line` describes, or None unless every field is of the right type."""
    try:
        value = json.loads(line)
        run = Run(
            program=_text(value, "program"),
            pid=_integer(value, "pid"),
            started=_number(value, "started"),
            ended=_number(value, "ended"),
            threads=_integer(value, "threads"),
            models=[
                Entry(
                    kind=_text(model, "kind"),
                    model=_text(model, "model"),
                    calls=_integer(model, "calls"),
                    samples=_integer(model, "samples"),
                    compiles=_integer(model, "compiles"),
                    compile_seconds=_number(model, "compile_seconds"),
                    ipus=_integer(model, "ipus"),
                    failures=_integer(model, "failures"),
                )
                for model in value["models"][:MAX_MODELS]
            ],
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return run


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value[key]
    # a record must not be able to move the cursor or colour the terminal of whoever reads it
    if not isinstance(text, str) or len(text) > _MAX_NAME or not text.isprintable():
        raise ValueError(key)
    return text


def _integer(value: Mapping[str, Any], key: str) -> int:
    number = value[key]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
        raise ValueError(key)
    return number


def _number(value: Mapping[str, Any], key: str) -> float:
    number = value[key]
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError(key)
    if not (math.isfinite(number) and 0 <= number < 1e12):
        raise ValueError(key)
    return float(number)
