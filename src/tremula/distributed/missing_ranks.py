"""Finds the instances that are missing when an operation fails or times out.

Each instance that notices the failure writes so into the store, and so does one that ends. An instance that has written
nothing after a moment is missing: it hangs, was killed, or is still busy.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence

from torch._C._distributed_c10d import Store

#: how long an instance waits for the reports of the others
_LISTEN_SECONDS = 1.0
_PAUSE_SECONDS = 0.05


class MissingRanks:
    """Reports of the instances of one group (`members`) about failures and their end, in the `store`."""

    def __init__(self, store: Store, rank: int, members: Sequence[int]) -> None:
        self._store = store
        self._rank = rank
        self._others = [member for member in members if member != rank]

    def report_failure(self) -> None:
        """Report that this instance noticed a failure."""
        self._write("noticed")

    def report_end(self) -> None:
        """Report that this instance ends."""
        self._write("ended")

    def describe(self) -> str:
        """Which instances are missing, in words; empty if all have reported, or the store is gone."""
        stop = time.monotonic() + _LISTEN_SECONDS
        while (silent := self._without("noticed", self._others)) and time.monotonic() < stop:
            time.sleep(_PAUSE_SECONDS)
        still_there = self._without("ended", silent)
        ended = [member for member in silent if member not in still_there]
        parts = []
        if ended:
            parts.append(f"{named(ended)} {_has(ended)} ended")
        if still_there:
            parts.append(f"{named(still_there)} did not arrive")
        return " and ".join(parts)

    def _write(self, word: str) -> None:
        with contextlib.suppress(RuntimeError):  # the host of the store is gone
            self._store.set(f"{word}/{self._rank}", "1")

    def _without(self, word: str, members: Iterable[int]) -> list[int]:
        """The members without such a report; none if the store is gone."""
        try:
            return [member for member in members if not self._store.check([f"{word}/{member}"])]
        except RuntimeError:
            return []


def named(instances: Sequence[int]) -> str:
    """`instance 1`, or `instances 1, 2 and 3`."""
    if len(instances) == 1:
        return f"instance {instances[0]}"
    return f"instances {', '.join(map(str, instances[:-1]))} and {instances[-1]}"


def _has(instances: Sequence[int]) -> str:
    return "has" if len(instances) == 1 else "have"
