"""How long the program waited for data: for each loader, and in total for the summary at the end of a run.

A loader that loads ahead makes its user wait only when it is behind; one that loads in the program's own
process makes it wait for all of the loading.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Self

from tremula.trace import channels, points
from tremula.trace.names import DATA_WAIT

#: of the trace: what programs wait for
CHANNEL = channels.channel("poptorch.DataLoader")


@dataclass(slots=True)
class DataWait:
    """Counts of one loader."""

    seconds: float = 0.0  #: time spent waiting for items
    items: int = 0  #: items that were handed out

    def add(self, seconds: float) -> None:
        """Count an item that was waited for, in this record and in that of the process."""
        self.seconds += seconds
        self.items += 1
        _total.seconds += seconds
        _total.items += 1
        if CHANNEL.on and multiprocessing.parent_process() is None:  # in a worker, nobody waits
            now = perf_counter_ns()
            points.whole(CHANNEL, DATA_WAIT, now - round(seconds * 1e9), now)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        # A loader that is sent to another process starts counting there.
        return type(self), ()


_total = DataWait()


def waited_seconds() -> float:
    """Seconds that this process has waited for data, over all loaders."""
    return _total.seconds


def items() -> int:
    """Items that loaders have handed out in this process."""
    return _total.items
