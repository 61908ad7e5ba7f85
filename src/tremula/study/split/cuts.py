"""Where to cut: the stages whose longest is shortest, within a bound on memory, by dynamic programming.

The result is exact for the loads and bytes that are given (loads.py) for every run of pieces. Among splits whose
longest stage is within `TOLERANCE` of the shortest possible, the most even one with the outermost cuts is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: how much longer than possible the longest stage may be for the sake of simpler cuts
TOLERANCE = 0.01
#: what a cut one module deeper weighs against the squared loads of stages, 1 for the longest
_DEPTH_WEIGHT = 0.02


@dataclass(frozen=True)
class Stages:
    """What there is to cut: entry [s, i, j] is of pieces i to j - 1 as stage s. Infinite: not allowed."""

    load: Floats
    memory: Floats
    #: how deep the module is at which a stage would begin, by piece
    depth: Floats
    #: whether the last stage is on the IPU of the first
    returns: bool = False

    @property
    def stages(self) -> int:
        """Forward stages."""
        return int(self.load.shape[0])

    @property
    def pieces(self) -> int:
        return int(self.load.shape[1]) - 1


@dataclass(frozen=True)
class Solution:
    """Pieces with which the stages after the first begin, the load of the busiest IPU and the most bytes on one."""

    begins: tuple[int, ...]
    load: float
    memory: float


def kept_together(cost: Floats, pairs: Iterable[tuple[int, int]], *, returns: bool = False) -> Floats:
    """`cost` [s, i, j] with the stages forbidden that part pieces which read one parameter.

    With `returns` the first and the last stage are on one IPU, and may have one piece of a pair each.
    """
    allowed = cost.copy()
    count = cost.shape[1]
    first, end = np.arange(count)[:, None], np.arange(count)[None, :]
    for a, b in pairs:
        parted = ((first <= a) & (a < end)) != ((first <= b) & (b < end))
        if returns:
            allowed[1:-1, parted] = np.inf
        else:
            allowed[:, parted] = np.inf
    return allowed


def shortest(stages: Stages, bound: float = np.inf) -> Solution | None:
    """The split whose busiest IPU has least to do, with no more than `bound` bytes on any; None: there is none."""
    return _solve(stages, stages.load, stages.memory, bound)


def smallest(stages: Stages) -> Solution | None:
    """The split whose fullest IPU has fewest bytes, however uneven."""
    return _solve(stages, stages.memory, stages.load, np.inf)


def _solve(stages: Stages, cost: Floats, limited: Floats, bound: float) -> Solution | None:
    ends = range(stages.pieces, stages.pieces + 1)
    if stages.returns:
        ends = range(stages.pieces - 1, stages.stages - 2, -1)
    best: list[tuple[float, int]] = []
    least = np.inf
    for end in ends:
        if stages.returns and cost[-1, end, -1] > least:
            continue  # the last stage alone is longer than a whole split
        longest = _longest(_allowed(stages, cost, limited, bound, end))
        if np.isfinite(longest):
            best.append((longest, end))
            least = min(least, longest * (1.0 + TOLERANCE))
    if not best:
        return None
    begins = min(
        _evenest(stages, _allowed(stages, cost, limited, bound, end), least)
        for longest, end in best
        if longest <= least
    )[1]
    load, memory = (max(by_ipu(stages, each, begins)) for each in (stages.load, stages.memory))
    return Solution(begins, load, memory)


def _of_stages(stages: Stages, cost: Floats, end: int) -> list[Floats]:
    """Costs of the stages that lie before piece `end`, what the last adds to the first included."""
    parts = [cost[s, : end + 1, : end + 1] for s in range(stages.stages - stages.returns)]
    if stages.returns:
        parts[0] = parts[0] + cost[-1, end, -1]
    return parts


def _allowed(stages: Stages, cost: Floats, limited: Floats, bound: float, end: int) -> list[Floats]:
    costs = _of_stages(stages, cost, end)
    within = _of_stages(stages, limited, end)
    empty = np.tri(end + 1, dtype=bool)
    # what is forbidden is infinite in either, whatever the bound
    return [
        np.where(empty | (b > bound) | ~np.isfinite(b), np.inf, c) for c, b in zip(costs, within, strict=True)
    ]


def _longest(parts: Sequence[Floats]) -> float:
    """The least possible cost of the costliest stage."""
    reached = parts[0][0]
    for part in parts[1:]:
        reached = np.min(np.maximum(reached[:, None], part), axis=0)
    return float(reached[-1])


def _evenest(stages: Stages, parts: Sequence[Floats], most: float) -> tuple[float, tuple[int, ...]]:
    """Of all splits with no stage costlier than `most`, the most even one with the simplest cuts, and its weight."""
    end, scale = len(parts[0]) - 1, most or 1.0
    depth = _DEPTH_WEIGHT * stages.depth
    weights = [np.where(part <= most, (part / scale) ** 2, np.inf) for part in parts]
    reached = weights[0][0]
    chosen: list[NDArray[np.int64]] = []
    for weight in weights[1:]:
        ways = reached[:, None] + weight + depth[: end + 1, None]
        chosen.append(np.argmin(ways, axis=0))
        reached = ways[chosen[-1], np.arange(end + 1)]
    begins: list[int] = [end] if stages.returns else []
    at = end
    for choice in reversed(chosen):
        at = int(choice[at])
        begins.append(at)
    total = float(reached[end]) + (float(depth[end]) if stages.returns else 0.0)
    return total, tuple(reversed(begins))


def by_ipu(stages: Stages, cost: Floats, begins: Sequence[int]) -> list[float]:
    """Cost of each IPU when the stages after the first begin with the pieces `begins`."""
    edges = [0, *begins, stages.pieces]
    each = [float(cost[s, edges[s], edges[s + 1]]) for s in range(stages.stages)]
    if stages.returns:
        each[0] += each.pop()
    return each
