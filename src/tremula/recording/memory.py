"""Memory as rows: tiles by use, what is alive when, and what takes most.

Everything is taken from the memory report; the one addition is what temporaries take on all tiles of an IPU in
each program step: those of the fullest tile times the tiles that the op uses, as in the report's peak.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.memory.report import IpuMemory
from tremula.profile import model
from tremula.profile.rows import packed

#: tensors whose lifetimes are written, of each IPU, largest first
LIFETIMES_PER_IPU = 2_000


def memory_rows(estimate: Estimate, op_rows: Sequence[int], used: NDArray[np.int64]) -> Iterator[model.Row]:
    """Rows about memory; `op_rows` gives the row of each op of the flat program, `used` is `tiles_used`."""
    numbers = {category: number for number, category in enumerate(Category)}
    for category, number in numbers.items():
        yield model.Category(number, category.value, int(category.always_live))
    for ipu in estimate.memory.ipus:
        yield model.IpuMemory(
            ipu=ipu.ipu,
            total_bytes=ipu.total_bytes,
            always_live_bytes=ipu.always_live_bytes,
            not_always_live_bytes=ipu.not_always_live_bytes,
            max_tile_bytes=ipu.max_tile_bytes,
            fullest_tile=ipu.fullest_tile,
            tiles_out_of_memory=ipu.tiles_out_of_memory,
            peak_step=ipu.peak.position,
            peak_op="/".join((*ipu.peak.scope, ipu.peak.op)),
            peak_phase=ipu.peak.phase,
        )
    for ipu in estimate.memory.ipus:
        for category, on_tiles in ipu.tiles.items():
            if on_tiles.any():
                yield model.TileMemory(
                    ipu.ipu, numbers[category], int(on_tiles.sum()), len(on_tiles), packed(on_tiles)
                )
        for each in ipu.contributors:
            yield model.Contributor(ipu.ipu, numbers[each.category], each.name, each.bytes)
    yield from _steps(estimate, op_rows, used)
    yield from _lifetimes(estimate)


def _steps(estimate: Estimate, op_rows: Sequence[int], used: NDArray[np.int64]) -> Iterator[model.Row]:
    alive = estimate.memory.liveness
    count = len(alive.events)
    ops = np.fromiter((op_rows[event.op] for event in alive.events), dtype=np.int64, count=count)
    again = np.fromiter((event.again for event in alive.events), dtype=np.int64, count=count)
    yield model.ProgramSteps(count, packed(ops), packed(again))
    for ipu in estimate.memory.ipus:
        both = live_and_temporary(estimate, ipu, used)
        if both is not None:
            yield model.Liveness(ipu.ipu, count, packed(both[0]), packed(both[1]))


def live_and_temporary(
    estimate: Estimate, ipu: IpuMemory, used: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Bytes of tensors and of temporaries on all tiles of an IPU in each program step; None if there are no steps."""
    alive = estimate.memory.liveness
    count = len(alive.events)
    live = alive.live.get(ipu.ipu, np.zeros(0, dtype=np.int64))[:count]
    on_tile = alive.temporary.get(ipu.ipu, np.zeros(0, dtype=np.int64))[:count]
    if len(live) != count or not count:
        return None
    temporary = on_tile * used
    # at the fullest moment, what the report says: its plans may be others than those of the times
    temporary[ipu.peak.position] = int(ipu.tiles[Category.TEMPORARIES].sum())
    return live, temporary


def tiles_used(estimate: Estimate) -> NDArray[np.int64]:
    """Tiles that the op of each program step uses, at most those that compute."""
    tiles = estimate.chip.tiles - estimate.deployment.io_tiles
    known: dict[int, int] = {}

    def of(op: int) -> int:
        cost = estimate.costs.costs[op]
        if id(cost) not in known:
            known[id(cost)] = min(tiles, max((step.tiles for step in cost.supersteps), default=tiles))
        return known[id(cost)]

    events = estimate.memory.liveness.events
    return np.fromiter((of(event.op) for event in events), dtype=np.int64, count=len(events))


def _lifetimes(estimate: Estimate) -> Iterator[model.Lifetime]:
    tensors = estimate.program.tensors
    by_ipu = defaultdict(list)
    for each in estimate.memory.liveness.lifetimes:
        if each.last >= each.first:
            by_ipu[each.ipu].append(each)
    for ipu, mine in sorted(by_ipu.items()):
        for each in heapq.nlargest(LIFETIMES_PER_IPU, mine, key=lambda lifetime: lifetime.bytes):
            tensor = tensors[each.storage]
            yield model.Lifetime(ipu, tensor.name, tensor.module, each.bytes, each.first, each.last)
