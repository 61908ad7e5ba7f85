"""A whole log, read in one pass: the streams of its ranks, and what the launcher itself said.

Only numbers are kept of the lines that count; how much memory that takes follows from their number, not from the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cosmictagger.analysis import lines as grammar
from cosmictagger.analysis.lines import DAY, Clock, number
from cosmictagger.analysis.reading import Ending, lines, opened
from cosmictagger.analysis.streams import MOST, Stream

_MOST_RANKS = 16_384


class Log:
    """A whole log.

    Attributes:
        path: its file, None for stdin.
        streams: by rank; None for lines without a tag.
        launcher: what poprun itself said, as (milliseconds since midnight, line).
        instances: of the topology that poprun drew.
        local_replicas: of each process, from poprun's command.
        exit_codes: of mpirun.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.ending = Ending()
        self.streams: dict[bytes | None, Stream] = {}
        self.launcher: list[tuple[int, int]] = []
        self.launcher_wraps: list[int] = []
        self.launcher_wrapped = 0
        self.instances: int | None = None
        self.local_replicas: int | None = None
        self.exit_codes: list[tuple[int, int]] = []
        self.nan_losses: dict[bytes | None, tuple[int, int]] = {}
        self.left_out = 0

    def stream(self, tag: bytes | None) -> Stream:
        """The stream of a tag."""
        found = self.streams.get(tag)
        if found is None:
            if len(self.streams) >= _MOST_RANKS:
                self.left_out += 1
                return Stream(-1)
            found = self.streams[tag] = Stream(None if tag is None else int(tag))
        return found


def read_log(path: Path | None) -> Log:
    """Read a log.

    Raises:
        BadLog: it cannot be opened.
    """
    log = Log(path)
    with opened(path) as file:
        _read(log, lines(file, log.ending))
    return log


def _read(log: Log, chunks: Iterable[list[bytes]]) -> None:
    """Nearly all lines of a long log are training lines, so these take the shortest way."""
    clock, streams = Clock(), log.streams
    minutes, minute_of, train = clock.minutes, clock.minute, grammar.TRAIN
    line = 0
    for chunk in chunks:
        for text in chunk:
            line += 1
            found = train(text)
            if found is None:
                _other(log, clock, text, line)
                continue
            tag, minute, second, milli, step, metrics, fetch, update = found.groups()
            begin = minutes.get(minute)
            if begin is None:
                begin = minute_of(minute)
            if begin < 0:
                continue
            stream = streams.get(tag) or log.stream(tag)
            time = begin + int(second + milli)
            if len(minute) == 5:
                time = stream.at(time, line)
            try:
                stream.train(time, int(step), float(fetch), float(update), line)
            except ValueError:
                stream.train(time, int(step), number(fetch), number(update), line)
            if b"nan" in metrics or b"inf" in metrics:
                count, where = log.nan_losses.get(tag, (0, line))
                log.nan_losses[tag] = (count + 1, where)


def _other(log: Log, clock: Clock, text: bytes, line: int) -> None:
    """A line that is not a training step."""
    if b"\r" in text.rstrip(b"\r"):
        # a progress bar writes over itself; what follows it on the same line counts
        for part in text.split(b"\r"):
            if part:
                _read_part(log, clock, part, line)
        return
    _read_part(log, clock, text, line)


def _read_part(log: Log, clock: Clock, text: bytes, line: int) -> None:
    if record := grammar.RECORD(text):
        tag, minute, second, milli, level, message = record.groups()
        time = clock.time(minute, second, milli)
        if time is None:
            return
        stream = log.stream(tag)
        if not grammar.dated(minute):
            time = stream.at(time, line)
        stream.message(time, level, message, line)
        return
    if launcher := grammar.LAUNCHER(text):
        _launcher(log, clock.time(*launcher.groups()[:3]), launcher[4], line)
        return
    tagged = grammar.TAGGED(text)
    assert tagged is not None
    if tagged[1] is not None:
        log.stream(tagged[1]).continuation(tagged[2], line)
    elif instances := grammar.INSTANCES(text):
        numbers = [int(each) for each in instances[1].replace(b"|", b" ").split() if each.isdigit()]
        log.instances = max(numbers, default=-1) + 1 if b"." not in instances[1] else log.instances
    elif None in log.streams:
        log.streams[None].continuation(text, line)
    elif b"Graph compilation" in text:
        log.stream(None).mark("compiled", line)


def _launcher(log: Log, time: int | None, message: bytes, line: int) -> None:
    if time is None:
        return
    time += log.launcher_wrapped
    if log.launcher and time < log.launcher[-1][0] - DAY // 2:
        log.launcher_wrapped += DAY
        time += DAY
        if len(log.launcher_wraps) < MOST:
            log.launcher_wraps.append(line)
    # only the first and the last count
    log.launcher[1:] = [(time, line)]
    if code := grammar.EXIT_CODE(message):
        if len(log.exit_codes) < MOST:
            log.exit_codes.append((int(code[1]), line))
    elif replicas := grammar.LOCAL_REPLICAS(message):
        log.local_replicas = int(replicas[1])
        # one group of arguments for each process
        log.instances = log.instances or message.count(b"POPDIST_LOCAL_INSTANCE_INDEX=") or None
