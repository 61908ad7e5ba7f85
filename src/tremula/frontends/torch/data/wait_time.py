"""How long the program waited for data: for each loader, and in total for the summary at the end of a run.

A loader that loads ahead makes its user wait only when it is behind; one that loads in the program's own
process makes it wait for all of the loading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


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
