"""What one writer logged: its steps as arrays of numbers, and the few other things that matter.

Text is not kept: a step takes 48 bytes however long its line was. What can occur without end (launches, settings,
closing lines) is kept up to a bound.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

from cosmictagger.analysis import lines as grammar
from cosmictagger.analysis.lines import DAY, number, words

#: of each kind of thing that is kept beside the steps
MOST = 2048


@dataclass
class Launch:
    """The beginning of a process, as it wrote it down.

    Attributes:
        time: when, in milliseconds.
        line: where in the log.
        trained: training lines of this stream before it.
        settings: its configuration, by dotted keys.
        ours: the configuration is one of this program, not of the original.
    """

    time: int
    line: int
    trained: int
    settings: dict[str, str] = field(default_factory=dict)
    ours: bool = False

    def arguments(self, message: bytes) -> None:
        """Take over the settings of a command line; those of a configuration, which comes later, replace them."""
        self.ours = message.startswith(b"['cosmictagger'")
        for key, value in grammar.ARGUMENT(message)[:400]:
            self.settings[words(key, 60)] = words(value, 200)


@dataclass(frozen=True)
class Closing:
    """What a process wrote at its end: seconds and images per second without the first two calls."""

    time: int
    line: int
    seconds: float
    throughput: float


class Stream:
    """What one writer, or several through one file, logged.

    Attributes:
        rank: of the tag, or None.
        test_before: the time of the record before a validation's.
        before_first: time of the record before the first training line.
        digest: of the parameters at the end of our runs.
        undated: training and validation lines without a date.
        wraps: lines at which the time of undated lines jumped back by nearly a day.
        marks: what else was seen: how often, by name; the first line of each in `first`.
    """

    def __init__(self, rank: int | None) -> None:
        self.rank = rank
        self.times, self.steps = array("q"), array("q")
        self.fetching, self.stepping = array("d"), array("d")
        self.lines, self.records = array("q"), array("q")
        self.test_times, self.test_steps = array("q"), array("q")
        self.test_before, self.test_records = array("q"), array("q")
        self.launches: list[Launch] = []
        self.closings: list[Closing] = []
        self.restored: list[tuple[int, int]] = []
        self.marks: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.events_per_call: set[int] = set()
        self.digest = ""
        self.count = self.undated = 0
        self.before_first: int | None = None
        self.begin: int | None = None
        self.end = 0
        self.wraps: list[int] = []
        self._path: list[tuple[int, str]] | None = None

    def mark(self, name: str, line: int) -> None:
        """Remember that something was seen."""
        self.marks[name] += 1
        self.first.setdefault(name, line)

    def at(self, time: int, line: int) -> int:
        """The time of a line without a date: on the day that is nearest to the line before."""
        self.undated += 1
        if self.begin is None:
            return time
        time += self.end // DAY * DAY
        if time < self.end - DAY // 2:
            time += DAY
            if len(self.wraps) < MOST:
                self.wraps.append(line)
        elif time > self.end + DAY // 2 and time >= DAY:
            time -= DAY
        return time

    def record(self, time: int) -> None:
        """Count a record."""
        self.count += 1
        self.end = time
        if self.begin is None:
            self.begin = time
        self._path = None

    def train(self, time: int, step: int, fetch: float, update: float, line: int) -> None:
        """A training step."""
        if self.begin is None:
            self.begin = time
        elif not self.steps:
            self.before_first = self.end
        self.count += 1
        self.end = time
        self._path = None
        self.times.append(time)
        self.steps.append(step)
        self.fetching.append(fetch)
        self.stepping.append(update)
        self.lines.append(line)
        self.records.append(self.count)

    def message(self, time: int, level: bytes, message: bytes, line: int) -> None:
        """A record that is not a training step."""
        before = self.end
        self.record(time)
        if test := grammar.TEST(message):
            self.test_times.append(time)
            self.test_steps.append(int(test[1]))
            self.test_before.append(before)
            self.test_records.append(self.count)
            return
        if message.startswith(b"Dumping launch arguments"):
            if len(self.launches) < MOST:
                self.launches.append(Launch(time, line, len(self.steps)))
        elif message.startswith(b"['") and self.launches and not self.launches[-1].settings:
            self.launches[-1].arguments(message)
        elif closing := grammar.CLOSING(message):
            if closing[1].endswith(b"two iterations") and len(self.closings) < MOST:
                self.closings.append(Closing(time, line, number(closing[2]), number(closing[3])))
        elif grammar.TOTAL(message):
            self.mark("total", line)
        elif restored := grammar.RESTORED(message):
            if len(self.restored) < MOST:
                self.restored.append((int(restored[1]), line))
        elif message.startswith(b"Interrupted ("):
            self.mark("interrupted", line)
        elif digest := grammar.DIGEST(message):
            self.digest = words(digest[1], 64)
        elif b"iterations already" in message:
            self.mark("done already", line)
        elif b"Graph compilation" in message:
            self.mark("not compiled" if b"compilation missing" in message else "compiled", line)
            if (events := grammar.EVENTS_PER_CALL(message)) and len(self.events_per_call) < MOST:
                self.events_per_call.add(int(events[1]))
        if level in (b"ERROR", b"CRITICAL"):
            self.mark("error", line)
        self.continuation(message, line)

    def continuation(self, text: bytes, line: int) -> None:
        """A line without a stamp: of a configuration, of a traceback, or of anything."""
        if b"-- CONFIG --" in text:
            if not self.launches:
                self.launches.append(Launch(self.end, line, len(self.steps)))
            self._path = []
        elif self._path is not None:
            self._setting(text)
        elif text.startswith(b"Traceback (most recent call last)"):
            self.mark("traceback", line)
        elif b"Graph compilation" in text:
            self.mark("compiled", line)

    def _setting(self, text: bytes) -> None:
        found = grammar.SETTING(text)
        if found is None:
            if text.strip():
                self._path = None
            return
        assert self._path is not None
        launch, depth = self.launches[-1], len(found[1])
        while self._path and self._path[-1][0] >= depth:
            self._path.pop()
        key = words(found[2], 60)
        value = words(found[3] or b"", 200)
        launch.ours |= key == "device_iterations"
        if value:
            if len(launch.settings) < 400:
                launch.settings[".".join([*(each for _, each in self._path), key])] = value
        else:
            self._path.append((depth, key))
