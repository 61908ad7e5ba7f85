"""The figures that the original's own analysis prints, faults included: to check them, not to use them.

It takes the differences of consecutive training lines of a file that all ranks wrote, by time of day, and stops after
501 of them. Here the file is built again from a log with tags: each rank keeps ten records back and then writes
them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cosmictagger.analysis import lines as grammar
from cosmictagger.analysis.reading import Ending, lines, opened
from cosmictagger.analysis.untangle import BLOCK

#: training lines after which the original reads no further
LAST_LINE = 501
#: lines that it leaves out at the beginning: two, and ten more
LEFT_OUT = 12
_MOST_LINES = 1000
_CLOSING = b"Total time to batch process except first two iterations"
_TIME = re.compile(rb"\S* (\d\d):(\d\d):(\d\d),(\d{1,6})(?: |\Z)").match


@dataclass
class Published:
    """What the original would have read.

    Attributes:
        durations: seconds from line to line, whoever wrote them.
        fetching, optimizing: the figures of the lines.
        fom: of the last closing line before it stopped.
        skipped: lines on which the original would have failed.
    """

    durations: list[float] = field(default_factory=list)
    fetching: list[float] = field(default_factory=list)
    optimizing: list[float] = field(default_factory=list)
    fom: float | None = None
    skipped: int = 0

    @property
    def text(self) -> str | None:
        """The text that the original prints, or None if there are too few lines for it."""
        # times in single precision, the others in double: it shows in the digits of the quantiles
        times = np.asarray(self.durations, dtype=np.float32)[LEFT_OUT:]
        if not len(times):
            return None
        columns = {
            "IO: ": np.asarray(self.fetching)[LEFT_OUT:],
            "Step: ": np.asarray(self.optimizing)[LEFT_OUT:],
            "Forward: (estimated)": times,
            "Durations: ": times,
        }
        parts = []
        for title, values in columns.items():
            parts += [
                title,
                f"  Mean time: {np.mean(values):.3f} +/- {np.std(values):.3f}",
                f"  Median time: {np.median(values):.3f}",
                f"  Max time: {np.max(values):.3f} ({np.argmax(values)})",
                f"  50/75/90/95 quantile: {np.quantile(values, [0.5, 0.75, 0.9, 0.95])}",
            ]
        return "\n".join([*parts, f"FOM:  {self.fom}"])


def published(path: Path | None) -> Published:
    """What the original would have read from a log.

    Raises:
        BadLog: it cannot be opened.
    """
    found, before = Published(), None
    with opened(path) as file:
        every = (line for chunk in lines(file, Ending()) for line in chunk)
        for line in shared(every):
            if _CLOSING in line:
                found.fom = grammar.number(line.rsplit(b" ", 1)[-1])
            if b"train Step" not in line:
                continue
            read = _training(line)
            if read is None:
                found.skipped += 1
                continue
            now, fetch, optimizer = read
            found.durations.append(0.0 if before is None else (now - before) / 1_000_000)
            found.fetching.append(fetch)
            found.optimizing.append(optimizer)
            before = now
            if len(found.durations) == LAST_LINE:
                break
    return found


def _training(line: bytes) -> tuple[int, float, float] | None:
    """Time of day in microseconds, seconds of fetching and of the optimizer, by the place of the words."""
    time, tokens = _TIME(line), line.split(b" ")
    if time is None or len(tokens) < 8:
        return None
    hour, minute, second = (int(each) for each in time.groups()[:3])
    try:
        fetch, optimizer = float(tokens[-5].replace(b"(", b"")), float(tokens[-2])
        int(tokens[7])
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(time[4].ljust(6, b"0")), fetch, optimizer


def shared(every: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of the file that all ranks of a log with tags wrote; those of a log without tags as they are."""
    kept: dict[bytes, list[list[bytes]]] = {}
    for line in every:
        tagged = grammar.TAGGED(line)
        assert tagged is not None
        rank, text = tagged.groups()
        if rank is None:
            yield text
            continue
        record = grammar.RECORD(text)
        if record is None:
            if kept.get(rank):
                if len(kept[rank][-1]) < _MOST_LINES:
                    kept[rank][-1].append(text)
            else:
                # the rest of a record that is written already, or no record at all
                yield text
            continue
        # whoever wrote last comes last, for that is the order in which they end
        records = kept.pop(rank, [])
        records.append([text])
        if len(records) >= BLOCK or record[5] in (b"ERROR", b"CRITICAL"):
            yield from (each for parts in records for each in parts)
            records = []
        kept[rank] = records
    for records in kept.values():
        yield from (each for parts in records for each in parts)
