"""Sets of elements given by many overlapping runs: each element counted once.

Runs of the same stride are compared with each other; an element that runs of different strides name counts once for
each stride, so the result is an upper bound there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.placed.pieces import Pieces
from tremula.program.placed import Ints


@dataclass(frozen=True, eq=False)
class Union:
    """The runs that are left: no two of the same group and stride overlap."""

    first: Ints  #: number of a piece that is a part of it
    count: Ints
    bytes: Ints


def union(pieces: Pieces, *groups: Ints) -> Union:
    """The elements that `pieces` name, by the groups they belong to (columns of numbers)."""
    nothing = np.zeros(0, dtype=np.int64)
    if not len(pieces):
        return Union(nothing, nothing, nothing)
    low, count, stride = _ascending(pieces)
    residue, begin = low % stride, low // stride
    order = np.lexsort((begin, residue, stride, pieces.variable, *groups))
    keys = [column[order] for column in (*groups, pieces.variable, stride, residue)]
    begin, count = begin[order], count[order]
    new_key = np.ones(len(order), dtype=np.bool_)
    new_key[1:] = np.any([column[1:] != column[:-1] for column in keys], axis=0)
    # keys far apart: the largest end so far never reaches into the next key
    shift = (np.cumsum(new_key) - 1) * (int((begin + count).max()) + 2)
    begin = begin + shift
    reach = np.maximum.accumulate(begin + count)
    new = new_key.copy()
    new[1:] |= begin[1:] > reach[:-1]
    starts = np.flatnonzero(new)
    lasts = np.append(starts[1:], len(order)) - 1
    length = reach[lasts] - begin[starts]
    first = order[starts]
    return Union(first, length, length * pieces.element_bytes[first])


def _ascending(pieces: Pieces) -> tuple[Ints, Ints, Ints]:
    """Start, count and stride of the same elements with a positive stride."""
    step = pieces.stride
    far = pieces.start + (pieces.count - 1) * step
    low = np.minimum(pieces.start, far)
    count = np.where(step == 0, 1, pieces.count)
    stride = np.where(count == 1, 1, np.abs(step))
    return low, count, stride
