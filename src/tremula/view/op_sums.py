"""Sums over the ops of a profile by texts of theirs: columns only, as objects of 100,000 ops take a while to make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.profile import Profile


@dataclass(frozen=True)
class OpSum:
    """Ops that have the same texts: their cycles, and how many they are, merged ones counted."""

    texts: tuple[str, ...]
    compute: float
    exchange: float
    sync: float
    ops: int

    @property
    def cycles(self) -> float:
        """All cycles."""
        return self.compute + self.exchange + self.sync


def op_sums(profile: Profile, *columns: str) -> list[OpSum]:
    """One sum for each combination of texts in `columns` of the frame `ops`, in the order in which they first occur."""
    frame = profile.frame("ops")
    numbers: dict[tuple[str, ...], int] = {}
    texts = zip(*(frame.column(name) for name in columns), strict=True)
    rows = np.fromiter((numbers.setdefault(each, len(numbers)) for each in texts), np.int64, len(frame))
    compute, exchange, sync, merged = (
        np.bincount(rows, weights=frame.column(name), minlength=len(numbers)).tolist()
        for name in ("compute_cycles", "exchange_cycles", "sync_cycles", "merged")
    )
    return [
        OpSum(each, compute[row], exchange[row], sync[row], round(merged[row]))
        for each, row in numbers.items()
    ]
