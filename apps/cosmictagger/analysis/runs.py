"""Runs, their ranks, and what each rank did from a start to an end.

A poprun log is a run; so are the process.log and process_rank_<n>.log of one folder. A rank has a session for each time
that it was started: a run that goes on from a checkpoint appends to the same log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cosmictagger.analysis.reading import BadLog, name_of
from cosmictagger.analysis.sessions import Session, pieces
from cosmictagger.analysis.log import Log, read_log
from cosmictagger.analysis.streams import Launch, Stream

_RANK_FILE = re.compile(r"process(?:_rank_(\d{1,6}))?\.log(?:\.gz)?")
_LOG_FILE = re.compile(r".*\.(?:log|out|txt)(?:\.gz)?")
_MOST_FILES = 10_000


@dataclass(eq=False)
class Rank:
    """A process of a run."""

    number: int
    sessions: list[Session]
    stream: Stream
    log: Log
    duplicates: int = 0


@dataclass(eq=False)
class Run:
    """A job.

    Attributes:
        name: what it is called in reports.
        inferred: how ranks were told apart if no tag says it, else "".
        writers: ranks that wrote through one file.
        lost: training lines that could not be given to anyone.
        taken: numbers of ranks.
    """

    name: str
    logs: list[Log]
    ranks: list[Rank] = field(default_factory=list)
    inferred: str = ""
    writers: int = 1
    lost: int = 0
    taken: set[int] = field(default_factory=set)

    @cached_property
    def launches(self) -> list[Launch]:
        """All starts of all processes."""
        return [launch for log in self.logs for stream in log.streams.values() for launch in stream.launches]

    @cached_property
    def settings(self) -> dict[str, str]:
        """The configuration, of the first process that has a whole one."""
        return max((launch.settings for launch in self.launches), key=len, default={})

    @cached_property
    def ours(self) -> bool:
        """Whether this program wrote it, rather than the original."""
        return any(launch.ours for launch in self.launches)

    @property
    def on_ipu(self) -> bool:
        """Whether IPUs were asked for."""
        return self.settings.get("run.compute_mode") == "IPU"


def groups(given: Sequence[str]) -> list[list[Path | None]]:
    """The files of each run.

    Raises:
        BadLog: there is no such file, or a folder without logs.
    """
    files: list[Path | None] = []
    for each in given:
        path = None if each == "-" else Path(each).expanduser()
        if path is not None and path.is_dir():
            found = _logs_in(path)
            if not found:
                raise BadLog(
                    f"{path} has no logs in it: no process.log and no *.log, *.out or *.txt, packed or not."
                )
            files += found
        elif path is not None and not path.exists():
            raise BadLog(f"There is no {path}.")
        else:
            files.append(path)
    together: dict[object, list[Path | None]] = {}
    for number, path in enumerate(dict.fromkeys(files)):
        ranked = path is not None and _RANK_FILE.fullmatch(path.name)
        together.setdefault(path.resolve().parent if path is not None and ranked else number, []).append(path)
    return [sorted(each, key=lambda path: _rank_of(path) or 0) for each in together.values()]


def _logs_in(folder: Path) -> list[Path]:
    found = []
    for number, path in enumerate(folder.rglob("*")):
        if number > 100 * _MOST_FILES or len(found) > _MOST_FILES:
            raise BadLog(f"{folder} holds too many files: name the run's own folder.")
        if _LOG_FILE.fullmatch(path.name) and path.is_file():
            found.append(path)
    # where processes have their own logs, other files there are not logs of runs
    own = {path.parent for path in found if _RANK_FILE.fullmatch(path.name)}
    return sorted(path for path in found if path.parent not in own or _RANK_FILE.fullmatch(path.name))


def _rank_of(path: Path | None) -> int | None:
    match = _RANK_FILE.fullmatch(path.name) if path is not None else None
    return int(match[1] or 0) if match else None


def read_run(files: Sequence[Path | None]) -> Run:
    """Read the logs of a run."""
    logs = [read_log(path) for path in files]
    first = files[0]
    name = name_of(first if len(files) == 1 or first is None else first.parent)
    run = Run(name, logs)
    for log in logs:
        _add_ranks(run, log, _rank_of(log.path))
    run.ranks.sort(key=lambda rank: rank.number)
    return run


def _add_ranks(run: Run, log: Log, number: int | None) -> None:
    tagged = [stream for stream in log.streams.values() if stream.rank is not None]
    for stream in tagged:
        _add_streams(run, log, stream, stream.rank)
    untagged = log.streams.get(None)
    if untagged is not None and (len(untagged.steps) or not tagged):
        _add_streams(run, log, untagged, number)


def _add_streams(run: Run, log: Log, stream: Stream, number: int | None) -> None:
    ranks: list[Rank] = []
    for piece in pieces(stream):
        for session in piece.sessions:
            # a rank whose session has ended may have been started again
            free = (rank for rank in ranks if rank.sessions[-1].times[-1] < session.times[0])
            if rank := next(free, None):
                rank.sessions.append(session)
            else:
                ranks.append(Rank(0, [session], stream, log))
        ranks[0].duplicates += piece.duplicates
        run.lost += piece.lost
        if len(ranks) > 1:
            run.inferred = run.inferred or piece.inferred
    for rank in ranks:
        rank.number = number if number is not None else 0
        while rank.number in run.taken:
            rank.number += 1
        run.taken.add(rank.number)
    run.ranks += ranks
    run.writers = max(run.writers, len(ranks))


def read_runs(given: Sequence[str]) -> Iterable[Run]:
    """The runs of files and folders, one after another.

    Raises:
        BadLog: one is not there or cannot be opened.
    """
    found = groups(given)
    for files in found:
        yield read_run(files)
