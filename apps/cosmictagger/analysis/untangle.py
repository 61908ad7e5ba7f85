"""Lines of several ranks in one file without tags: who wrote which?

The original's ranks all append to one process.log, each in blocks of ten records. Steps of one rank follow each other,
so blocks are joined where one goes on from where another ended. Of several that could go on, the order in time
decides: two ranks may change places where they are equally far, which leaves all sums and nearly all statistics as
they are. The result is an inference, and is called so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: records that the original keeps back before it writes them
BLOCK = 10
_MOST_WRITERS = 2048
#: steps that may be missing where a writer goes on: to search further back is to guess
_MOST_MISSING = 50
#: pairs of a block and a writer of which the best are chosen; of more, only the order in time decides
_MOST_PAIRS = 4096
#: writers that are looked at where steps are missing
_MOST_LATE = 64


@dataclass(frozen=True, eq=False)
class Chains:
    """Lines by writer.

    Attributes:
        members: indices of the lines of each writer, in order of their steps.
        offset: records before the first whole block of ten, or None if the file is not made of such blocks.
        duplicates: lines that were there twice, and were left out.
        lost: lines of writers beyond the most that are told apart.
    """

    members: list[Ints]
    offset: int | None
    duplicates: int
    lost: int = 0


def untangle(steps: Ints, times: Ints, records: Ints, figures: Sequence[NDArray[np.float64]]) -> Chains:
    """Tell the writers of training lines apart.

    Args:
        steps: numbers of the steps, in the order of the file.
        times: when they were logged.
        records: how many records were in the file up to each, itself included.
        figures: what else the lines say: two ranks may log the same step in the same millisecond.
    """
    unique = np.unique(steps)
    if len(unique) == len(steps):
        return Chains([np.argsort(steps, kind="stable")], None, 0)
    order = np.lexsort((times, steps))
    same = np.ones(max(len(steps) - 1, 0), bool)
    for column in (steps, times, *figures):
        same &= np.diff(column[order]) == 0
    kept = np.sort(order[np.append(True, ~same)])
    duplicates = len(steps) - len(kept)
    steps, times, records = steps[kept], times[kept], records[kept]
    if len(unique) == len(steps):
        return Chains([kept[np.argsort(steps, kind="stable")]], None, duplicates)
    stride = int(np.median(np.diff(unique))) if len(unique) > 1 else 1
    typical = _typical(steps, times, unique, stride)
    offset = _block_offset(steps, times, records, stride)
    begins = np.flatnonzero(_cuts(steps, times, records, stride, typical, offset))
    ends = np.append(begins[1:], len(steps))
    chains = _joined(steps, times, begins, ends, stride, typical)
    members = [
        kept[np.concatenate([np.arange(begins[each], ends[each]) for each in chain])] for chain in chains
    ]
    members.sort(key=len, reverse=True)
    lost = sum(len(member) for member in members[_MOST_WRITERS:])
    return Chains(members[:_MOST_WRITERS], offset, duplicates, lost)


def _typical(steps: Ints, times: Ints, unique: Ints, stride: int) -> float:
    """Milliseconds of a step."""
    gaps = np.diff(times)[(np.diff(steps) == stride) & (np.diff(times) > 0)]
    if len(gaps):
        return float(np.median(gaps))
    order = np.argsort(steps, kind="stable")
    middle = [np.median(each) for each in np.split(times[order], np.searchsorted(steps[order], unique)[1:])]
    return max(float(np.median(np.diff(middle))), 1.0) if len(middle) > 1 else 1.0


def _block_offset(steps: Ints, times: Ints, records: Ints, stride: int) -> int | None:
    """Where blocks of ten begin, if nearly all breaks between lines are between such blocks."""
    broken = np.flatnonzero((np.diff(steps) != stride) | (np.diff(times) <= 0))
    if len(broken) < 3:
        return None
    best, offset = 0.0, 0
    for shift in range(BLOCK):
        block = (records - 1 + shift) // BLOCK
        share = float(np.mean(block[broken + 1] != block[broken]))
        whole = np.diff(block) == 0
        # lines of one record each would fit any offset: within a block nothing may be broken
        if whole.any() and share > best:
            best, offset = share, shift
    return offset if best >= 0.99 and 2 * len(broken) < len(steps) else None


def _cuts(
    steps: Ints, times: Ints, records: Ints, stride: int, typical: float, offset: int | None
) -> NDArray[np.bool_]:
    gaps = np.diff(times)
    cuts = (np.diff(steps) != stride) | (gaps <= 0)
    if offset is not None:
        cuts |= np.diff((records - 1 + offset) // BLOCK) != 0
    else:
        # a wrong cut does no harm: the parts are joined again
        cuts |= (gaps < 0.65 * typical) | (gaps > 1.35 * typical)
    return np.append(True, cuts)


def _joined(
    steps: Ints, times: Ints, begins: Ints, ends: Ints, stride: int, typical: float
) -> list[list[int]]:
    """Blocks by chain."""
    order = np.lexsort((times[begins], steps[begins]))
    groups = np.split(order, np.flatnonzero(np.diff(steps[begins][order])) + 1)
    # lists, for single elements of arrays are slow
    first, last = steps[begins].tolist(), steps[ends - 1].tolist()
    start, end = times[begins].tolist(), times[ends - 1].tolist()
    chains: list[list[int]] = []
    #: chains by the step after which they go on
    open_at: dict[int, list[int]] = {}
    for group in groups:
        step = first[group[0]]
        if len(open_at) > 4 * _MOST_MISSING:
            open_at = {at: those for at, those in open_at.items() if step - at <= _MOST_MISSING * stride}
        waiting = open_at.pop(step - stride, [])
        pairs, blocks, chains_left = _matched(group, waiting, chains, start, end, typical)
        if chains_left:
            open_at.setdefault(step - stride, []).extend(chains_left)
        for block, chain in pairs:
            chains[chain].append(block)
        for block in blocks:
            chain = _late(block, step, open_at, chains, start, end, stride, typical)
            if chain is None:
                chain = len(chains)
                chains.append([])
            chains[chain].append(block)
            pairs.append((block, chain))
        for block, chain in pairs:
            open_at.setdefault(last[block], []).append(chain)
    return chains


def _matched(
    group: Ints, waiting: list[int], chains: list[list[int]], start: list[int], end: list[int], typical: float
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Blocks that begin at a step, and chains that wait for it: (pairs, blocks left, chains left)."""
    blocks = group.tolist()
    waiting = sorted(waiting, key=lambda chain: end[chains[chain][-1]])
    if len(blocks) == len(waiting):
        pairs = list(zip(blocks, waiting, strict=True))
        if all(start[block] > end[chains[chain][-1]] for block, chain in pairs):
            return pairs, [], []
    if len(blocks) * len(waiting) > _MOST_PAIRS:
        return _in_order(blocks, waiting, chains, start, end)
    costs = sorted(
        (abs(start[block] - end[chains[chain][-1]] - typical), block, chain)
        for block in blocks
        for chain in waiting
        if 0 < start[block] - end[chains[chain][-1]] < 20 * typical + 60_000
    )
    pairs, taken_blocks, taken_chains = [], set(), set()
    for _, block, chain in costs:
        if block not in taken_blocks and chain not in taken_chains:
            pairs.append((block, chain))
            taken_blocks.add(block)
            taken_chains.add(chain)
    return (
        pairs,
        [each for each in blocks if each not in taken_blocks],
        [each for each in waiting if each not in taken_chains],
    )


def _in_order(
    blocks: list[int], waiting: list[int], chains: list[list[int]], start: list[int], end: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Each block to the writer that has waited longest."""
    pairs, left, place = [], [], 0
    for block in blocks:
        if place < len(waiting) and start[block] > end[chains[waiting[place]][-1]]:
            pairs.append((block, waiting[place]))
            place += 1
        else:
            left.append(block)
    return pairs, left, waiting[place:]


def _late(
    block: int,
    step: int,
    open_at: dict[int, list[int]],
    chains: list[list[int]],
    start: list[int],
    end: list[int],
    stride: int,
    typical: float,
) -> int | None:
    """A chain that may go on with this block though steps between are missing; it is no longer open then."""
    best: tuple[float, int, int] | None = None
    looked_at = 0
    for after, waiting in open_at.items():
        skipped = (step - after) / stride
        if not 1 < skipped <= _MOST_MISSING:
            continue
        looked_at += len(waiting)
        if looked_at > _MOST_LATE:
            break
        for chain in waiting:
            error = abs((start[block] - end[chains[chain][-1]]) / (skipped * typical) - 1)
            if error < 0.5 and (best is None or error < best[0]):
                best = (error, after, chain)
    if best is None:
        return None
    open_at[best[1]].remove(best[2])
    return best[2]
