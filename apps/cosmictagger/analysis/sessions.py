"""What a rank did from a start to its end, taken from the stream of lines that it wrote, perhaps with others.

A stream is cut where a process started again; what several wrote at the same time is told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosmictagger.analysis.streams import Closing, Launch, Stream
from cosmictagger.analysis.untangle import BLOCK, Chains, untangle

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(eq=False)
class Session:
    """One start of one rank, up to its end.

    Attributes:
        steps, times, fetching, stepping, lines: of its training lines; times in milliseconds, the others in seconds.
        test_steps, test_times, test_before: validations: step, end, and the record before, which is their beginning.
        closing: what it wrote at its end.
        launch: what it wrote at its start.
        restored: the step that it went on from.
    """

    steps: Ints
    times: Ints
    fetching: Floats
    stepping: Floats
    lines: Ints
    test_steps: Ints
    test_times: Ints
    test_before: Ints
    closing: Closing | None = None
    launch: Launch | None = None
    restored: int | None = None

    @property
    def begin(self) -> int:
        """When it was started, as far as the log tells."""
        return min(self.launch.time, int(self.times[0])) if self.launch else int(self.times[0])


@dataclass(frozen=True, eq=False)
class Piece:
    """What was written from one start of a job to the next.

    Attributes:
        sessions: of each rank that wrote.
        inferred: how they were told apart, or "" if there is only one.
        duplicates: lines that were there twice.
        lost: lines that could not be given to anyone.
    """

    sessions: list[Session]
    inferred: str
    duplicates: int
    lost: int


def pieces(stream: Stream) -> list[Piece]:
    """All sessions of a stream, in order."""
    found = []
    for first, last in _pieces(stream):
        steps, times, records = (
            np.frombuffer(each, dtype=np.int64)[first:last]
            for each in (stream.steps, stream.times, stream.records)
        )
        figures = [np.frombuffer(each)[first:last] for each in (stream.fetching, stream.stepping)]
        chains = untangle(steps, times, records, figures)
        sessions = sorted(_sessions(stream, chains, first, last), key=lambda each: int(each.times[0]))
        how = "from blocks of ten records" if chains.offset is not None else "from step numbers and times"
        found.append(Piece(sessions, how if len(sessions) > 1 else "", chains.duplicates, chains.lost))
    return found


def _pieces(stream: Stream) -> list[tuple[int, int]]:
    """Training lines between starts: (first, last). Another rank's start at about the same time is not a new one."""
    times = np.frombuffer(stream.times, dtype=np.int64) if len(stream.times) else np.zeros(0, np.int64)
    latest = np.maximum.accumulate(times) if len(times) else times
    cuts = [0]
    for launch in stream.launches:
        if cuts[-1] < launch.trained and launch.time >= latest[launch.trained - 1]:
            cuts.append(launch.trained)
    return [(begin, end) for begin, end in zip(cuts, [*cuts[1:], len(times)], strict=True) if end > begin]


def _sessions(stream: Stream, chains: Chains, first: int, last: int) -> list[Session]:
    columns = [
        np.frombuffer(each, dtype=kind)
        for each, kind in (
            (stream.steps, np.int64),
            (stream.times, np.int64),
            (stream.fetching, np.float64),
            (stream.stepping, np.float64),
            (stream.lines, np.int64),
        )
    ]
    none = np.zeros(0, np.int64)
    sessions = [Session(*_taken(columns, member, first), none, none, none) for member in chains.members]
    begin = min(int(session.times[0]) for session in sessions)
    end = max(int(session.times[-1]) for session in sessions)
    _give_tests(stream, chains, sessions, first, begin, last)
    _give_closings(stream, sessions, begin, int(columns[1][last]) if last < len(columns[1]) else None)
    # the starts that belong to these lines: the last ones before them
    launches = [each for each in stream.launches if each.time <= end]
    for session in sessions:
        before = [each for each in launches if each.time <= session.times[0]]
        session.launch = before[-1] if before else None
        line = session.launch.line if session.launch else 0
        session.restored = next(
            (step for step, where in stream.restored if line < where < session.lines[0]), None
        )
    return sessions


def _taken(columns: list[NDArray[Any]], member: Ints, first: int) -> list[NDArray[Any]]:
    """The lines of a chain; not a copy of them if they follow each other, as in most logs."""
    if np.all(np.diff(member) == 1):
        begin = first + int(member[0])
        return [column[begin : begin + len(member)] for column in columns]
    return [column[member + first] for column in columns]


def _give_tests(
    stream: Stream, chains: Chains, sessions: list[Session], first: int, begin: int, last: int
) -> None:
    """Validations to the sessions that they were in."""
    steps, times, before, records = (
        np.frombuffer(each, dtype=np.int64) if len(each) else np.zeros(0, np.int64)
        for each in (stream.test_steps, stream.test_times, stream.test_before, stream.test_records)
    )
    after = int(stream.times[last]) if last < len(stream.times) else None
    here = (times >= begin) if after is None else (times >= begin) & (times < after)
    steps, times, before, records = (each[here] for each in (steps, times, before, records))
    if len(sessions) == 1:
        sessions[0].test_steps, sessions[0].test_times, sessions[0].test_before = steps, times, before
        return
    owner = _owners(stream, chains, sessions, first, steps, times, records)
    for number, session in enumerate(sessions):
        mine = owner == number
        session.test_steps, session.test_times = steps[mine], times[mine]
        # the record before may be another rank's: the training line before is this one's
        place = np.searchsorted(session.times, session.test_times) - 1
        session.test_before = session.times[np.maximum(place, 0)]


def _owners(
    stream: Stream,
    chains: Chains,
    sessions: list[Session],
    first: int,
    steps: Ints,
    times: Ints,
    records: Ints,
) -> Ints:
    owner = np.full(len(steps), -1, np.int64)
    if chains.offset is not None:
        places = np.frombuffer(stream.records, dtype=np.int64)[first:]
        blocks = {
            int(block): number
            for number, member in enumerate(chains.members)
            for block in np.unique((places[member] - 1 + chains.offset) // BLOCK)
        }
        return np.array(
            [blocks.get(int(block), -1) for block in (records - 1 + chains.offset) // BLOCK], np.int64
        )
    for step in np.unique(steps):
        those = np.flatnonzero(steps == step)
        those = those[np.argsort(times[those], kind="stable")]
        reached = []
        for number, session in enumerate(sessions):
            place = int(np.searchsorted(session.steps, step))
            if place > 0:
                reached.append((int(session.times[place - 1]), number))
        reached.sort()
        for test, (_, number) in zip(those, reached, strict=False):
            owner[test] = number
    return owner


def _give_closings(stream: Stream, sessions: list[Session], begin: int, until: int | None) -> None:
    """Closing lines to the sessions that they end: in the order in which these ended."""
    closings = [
        each for each in stream.closings if each.time >= begin and (until is None or each.time < until)
    ]
    open_sessions = sorted(sessions, key=lambda each: int(each.times[-1]))
    for closing in sorted(closings, key=lambda each: each.time):
        ended = [each for each in open_sessions if each.times[-1] <= closing.time]
        if ended:
            # the first that ended, if all have closing lines; else the nearest
            chosen = ended[0] if len(closings) >= len(sessions) else ended[-1]
            chosen.closing = closing
            open_sessions.remove(chosen)
