"""Measured beside the model: real processes under poprun that train the program's model on this host.

They show that N processes come to the weights of one. How fast they train depends on this host and says nothing of
IPUs. A run that fails is a problem of the study, which goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tremula.atomic_files import disk_problem
from tremula.distributed.host_run import HostRun
from tremula.errors import Error
from tremula.formatting import plain
from tremula.progress import ProgressCallback, bar
from tremula.scale.row import Measured

#: file in which an instance leaves its figures
FIGURES = "figures.json"
#: module that each process runs
_INSTANCE = "tremula.ask.instance"
#: characters of a program's last words
_LAST_WORDS = 300


@dataclass(frozen=True)
class MeasureSettings:
    """What is measured."""

    instances: tuple[int, ...] = (1, 2)  #: numbers of processes
    steps: int = 3  #: weight updates of each run; the first is not timed
    most_seconds: float = 300.0  #: after which a run is given up
    #: arguments that are added to the program's, for what would take too long here
    more_words: tuple[str, ...] = ()
    optimizer: str | None = None

    def __post_init__(self) -> None:
        if self.steps < 2:
            raise Error("A measured run needs at least two steps, because the first is not timed.")
        if any(count < 1 or count > 64 for count in self.instances):
            raise Error("The number of processes of a measured run must be 1 to 64.")
        if not 0 < self.most_seconds < float("inf"):
            raise Error("The time limit of a measured run must be more than 0 seconds.")


def measure(
    subject: Sequence[str],
    settings: MeasureSettings,
    folder: Path,
    *,
    started_in: Path | None = None,
    ipus_per_replica: int = 1,
    tell: ProgressCallback | None = None,
) -> Measured:
    """Run the subject under poprun, once for each number of processes; logs go to `folder`."""
    runs: list[HostRun] = []
    problems: list[str] = []
    with bar("Measuring", tell) as progress:
        for number, count in enumerate(settings.instances):
            progress(f"{count} process{'' if count == 1 else 'es'}", number / len(settings.instances))
            log = folder / f"measured-{count}.log"
            found = _run(subject, settings, count, ipus_per_replica, log, started_in or Path.cwd())
            if isinstance(found, str):
                problems.append(f"{count} process{'' if count == 1 else 'es'}: {found} (output: {log})")
                continue
            runs.append(found)
        progress("", 1.0)
    return Measured(tuple(runs), " ".join(settings.more_words), 1, tuple(problems))


def _run(
    subject: Sequence[str], settings: MeasureSettings, count: int, ipus: int, log: Path, started_in: Path
) -> HostRun | str:
    """One run: its figures, or why there are none."""
    given = {"steps": settings.steps, "optimizer": settings.optimizer}
    with tempfile.TemporaryDirectory(prefix="tremula-scale-") as place:
        state = Path(place) / "state"
        command = [
            sys.executable, "-m", "tremula.launch",
            "--num-instances", str(count), "--num-replicas", str(count), "--ipus-per-replica", str(ipus),
            sys.executable, "-m", _INSTANCE, place, json.dumps(given),
            *(with_words(subject, settings.more_words) if subject[0] == "run" else subject),
        ]  # fmt: skip
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TREMULA_SUMMARY": "0",
            "TREMULA_CHIP_MODEL": "off",
            # the same form in all runs, and none of it compiled in between
            "TREMULA_EXECUTION": "quick",
            # IPUs of their own: those of other programs are not taken, and there are enough
            "TREMULA_STATE_DIR": str(state),
            "TREMULA_VIRTUAL_IPUS": str(1 << (count * ipus - 1).bit_length()),  # devices are powers of two
        }
        for name in ("TREMULA_SYSTEM", "TREMULA_ESTIMATE", "IPUOF_VIPU_API_PARTITION_ID"):
            environment.pop(name, None)
        try:
            code = _in_time(command, environment, log, settings.most_seconds, started_in)
            figures = json.loads((Path(place) / FIGURES).read_text(encoding="utf-8"))
        except TimeoutError as late:
            return str(late)
        except (OSError, ValueError) as problem:
            full = disk_problem(problem) if isinstance(problem, OSError) else None
            if full is not None:
                return full
            return f"the program ended before it could be measured: {_last_words(log)}"
    if "problem" in figures:
        return str(figures["problem"])
    if code != 0 or not figures.get("run"):
        return f"poprun ended with code {code}: {_last_words(log)}"
    return HostRun(**{each.name: figures["run"][each.name] for each in fields(HostRun)})


def with_words(words: Sequence[str], more: Sequence[str]) -> list[str]:
    """A command line with more words; `key=value` takes the place of an earlier one with the same key."""
    keys = tuple(f"{word.partition('=')[0]}=" for word in more if "=" in word)
    return [*(word for word in words if not keys or not word.startswith(keys)), *more]


def _in_time(
    command: Sequence[str], environment: dict[str, str], log: Path, seconds: float, started_in: Path
) -> int:
    """The exit code of a command that may take so long; its output goes to `log`.

    Raises TimeoutError if it took longer, and was ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out, _ended_by_signals():
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=started_in,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"it exceeded the time limit of {seconds:g} s and was stopped; raise the limit with "
                "--measure-seconds, or make the program smaller with --measure-with"
            ) from None
        finally:
            if process.poll() is None:
                # poprun ends its instances when it is asked to end
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """While inside, SIGTERM ends this process as an exception does: what it started is ended with it."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _last_words(log: Path) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return "it printed nothing"
    said = [line for line in lines if line.strip() and "POPRUN" not in line]
    said = said or [line.partition("POPRUN [E]")[2].strip() for line in lines if "POPRUN [E]" in line][:1]
    return plain(said[-1], _LAST_WORDS, lines=False) if said else "it printed nothing"
