"""Exchanges of copies whose compute sets run together.

What an exchange brings lies in buffers, and its way to its places can wait: until a later copy of the same sequence
touches one of these places, or writes what is still to be read. The compiler seems to compare places by their extent,
from the first element to the last: a column then covers all rows between its ends, except other columns of the same
stride. So the copies of several exchanges run in one compute set.

This follows from published profiles of thorbenlouw/lbm-graphcore. Written tile by tile, a halo exchange has 1,216
exchanges, two in each row of tiles; 14,685 cycles pass for each row. That is time for two exchanges and one compute
set, in which the left tile's busiest worker has some 2,331 cycles, but not for a second one. The next row reads between
the ends of the columns that were written. Written by direction or in waves, rows and columns meet in the same way, and
each have a compute set of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tremula.placed.merging import copies_together
from tremula.program.placed import Copy, Ints, PlacedProgram, Runs
from tremula.program.placed_steps import RunCopy

#: runs of elements of copies that wait; copies of more are not taken to wait
MOST_RUNS = 1_000


def copy_steps(program: PlacedProgram) -> list[list[list[RunCopy]]]:
    """All copies of a program: compute sets, of each its exchanges, of each its copies."""
    found: list[list[list[RunCopy]]] = []
    for exchanges in copies_together(program):
        extents: _Extents | None = None
        for exchange in exchanges:
            copies = [program.copies[each.copy] for each in exchange]
            alone = any(each.across_replicas for each in copies)
            mine = _Extents.of(copies)
            if alone or extents is None or mine.touches(extents):
                found.append([exchange])
                extents = None if alone else mine
            else:
                found[-1].append(exchange)
                extents = extents.and_those_of(mine)
    return found


@dataclass(frozen=True, eq=False)
class _Places:
    """Runs of elements from their first to their last, in any order."""

    begin: Ints
    end: Ints
    stride: Ints

    @classmethod
    def of(cls, views: Sequence[Runs]) -> _Places:
        start, count, stride = (
            np.concatenate([getattr(each, name) for each in views]) for name in ("start", "count", "stride")
        )
        some = count > 0
        start, count, stride = start[some], count[some], stride[some]
        far = start + (count - 1) * stride
        stride = np.where(count == 1, 1, np.maximum(np.abs(stride), 1))
        return cls(np.minimum(start, far), np.maximum(start, far) + 1, stride)

    def __len__(self) -> int:
        return len(self.begin)

    def touch(self, other: _Places) -> bool:
        """Whether some extent of each overlap, columns of one stride by their elements."""
        if max(len(self), len(other)) > MOST_RUNS:
            return True
        overlap = (self.begin[:, None] < other.end) & (other.begin < self.end[:, None])
        a, b = np.nonzero(overlap)
        beside = (self.stride[a] == other.stride[b]) & (
            (self.begin[a] - other.begin[b]) % self.stride[a] != 0
        )
        return not bool(beside.all())

    def and_those_of(self, other: _Places) -> _Places:
        return _Places(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in ("begin", "end", "stride")
            )
        )


@dataclass(frozen=True, eq=False)
class _Extents:
    """What some copies read and write."""

    read: _Places
    written: _Places

    @classmethod
    def of(cls, copies: Sequence[Copy]) -> _Extents:
        return cls(_Places.of([each.source for each in copies]), _Places.of([each.target for each in copies]))

    def touches(self, earlier: _Extents) -> bool:
        """Whether these copies have to wait for earlier ones."""
        return (
            self.read.touch(earlier.written)
            or self.written.touch(earlier.written)
            or self.written.touch(earlier.read)
        )

    def and_those_of(self, other: _Extents) -> _Extents:
        return _Extents(self.read.and_those_of(other.read), self.written.and_those_of(other.written))
