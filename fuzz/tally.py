"""Counts of what became of the cases, and the summary at the end."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_SHOWN = 10


class Kind(enum.StrEnum):
    """What a failure is; none of them is wanted."""

    CRASH = "crashes"
    WRONG = "wrong results"
    STARTED = "programs or pickles started"
    OUTSIDE = "writes outside of the folders"
    LEFT = "processes left behind"


@dataclass(frozen=True)
class Failure:
    """A case that failed."""

    number: int
    kind: Kind
    problem: str


@dataclass
class Tally:
    """What became of the cases of one target."""

    name: str
    read: int = 0
    refused: int = 0
    #: events by their sort
    events: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    #: processes that were still there after a batch, beside those that a case noticed
    left_behind: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """All cases."""
        return self.survived + len(self.failures)

    @property
    def survived(self) -> int:
        """Files that were read, or refused as they should be; events that did no harm."""
        return self.read + self.refused + self.events.total()

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not self.failures and not self.left_behind


def print_summary(tallies: Sequence[Tally], seed: int) -> None:
    """A line for each target, the failures, and how many of each kind there are."""
    print(f"{'target':<16}{'tried':>8}{'survived':>10}{'failed':>8}{'read':>8}{'refused':>9}   (seed {seed})")
    for tally in tallies:
        counts = f"{tally.tried:>8}{tally.survived:>10}{len(tally.failures):>8}"
        print(f"{tally.name:<16}{counts}" + _details(tally))
    for tally in tallies:
        for failure in tally.failures[:_SHOWN]:
            print(f"{tally.name} case {failure.number}: {failure.problem}")
        for process in tally.left_behind[:_SHOWN]:
            print(f"{tally.name}: left behind: {process}")
    total = sum(tally.tried for tally in tallies)
    failed = sum(len(tally.failures) for tally in tallies)
    print(f"{total:,} tried, {total - failed:,} survived, {failed:,} failed")
    kinds = Counter(failure.kind for tally in tallies for failure in tally.failures)
    kinds[Kind.LEFT] += sum(len(tally.left_behind) for tally in tallies)
    print(", ".join(f"{kinds[kind]:,} {kind}" for kind in Kind))


def _details(tally: Tally) -> str:
    if tally.events:
        return "   " + "; ".join(f"{count} {sort}" for sort, count in sorted(tally.events.items()))
    return f"{tally.read:>8}{tally.refused:>9}"
