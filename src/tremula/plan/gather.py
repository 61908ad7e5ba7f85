"""Rows looked up in a table, and rows added to it: embeddings and their gradients.

With a split table every tile finds the rows it has, and a second stage picks the right one of each. Updates go
to all tiles that have part of the table; with split updates each group of tiles sums its own, and the sums are
added afterwards. Terms and constants: PopLibs popops/DynamicSlice.cpp and popops/PerformanceEstimation.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tremula.hardware.chip import Chip
from tremula.plan.cost import Bytes, Cost, Why
from tremula.plan.partition import Integers
from tremula.plan.table_split import Evaluated, Floats, Stage, TableSplits, candidates, cheapest
from tremula.program.dtypes import item_bytes
from tremula.program.work import Gather, Scatter

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs popops/DynamicSlice.cpp (embedding planner), popops/PerformanceEstimation.cpp"
_INDEX_BYTES = 4
#: groups that share the lookups: the table is sent to all of them, so many are as dear as two
_LOOKUP_GROUPS = (1, 1 << 20)
#: groups that share the updates: each has sums of its own, which are to be added up. All numbers are tried, so that
#: fewer updates never take longer than more of them
_UPDATE_GROUPS = tuple(range(1, 65))


def plan_gather(work: Gather, planner: Planner) -> Cost:
    """Rows out of a table."""
    chip = planner.chip
    if work.lookups * work.width * work.entries == 0:
        return Cost((), Bytes(), Why(plan="lookup of nothing", formula="0", source=""))

    def evaluate(passes: tuple[int, ...]) -> Evaluated:
        split = candidates(work.entries, work.width, work.lookups, work.dtype, chip, passes, _LOOKUP_GROUPS)
        return _lookups(work, split, chip)

    return cheapest(
        evaluate,
        work.lookups,
        work.proportion,
        chip,
        "table to groups / 4 + 6 x (30 + 19 and 2 per vector for a row found, 8 for others), then once more to "
        "pick among the parts of a split table",
        SOURCE,
    )


def plan_scatter(work: Scatter, planner: Planner) -> Cost:
    """Rows into a table."""
    chip = planner.chip
    if work.updates * work.width * work.entries == 0:
        return Cost((), Bytes(), Why(plan="update of nothing", formula="0", source=""))
    # rows that overwrite each other cannot be handled by several groups
    groups = _LOOKUP_GROUPS[:1] if work.operation == "set" else _UPDATE_GROUPS

    def evaluate(passes: tuple[int, ...]) -> Evaluated:
        split = candidates(work.entries, work.width, work.updates, work.dtype, chip, passes, groups)
        return _updates(work, split, chip)

    return cheapest(
        evaluate,
        work.updates,
        work.proportion,
        chip,
        "updates to the tiles of the table / 4 + 6 x (38 + 11 and 3 per word for a row of a worker's own, 5 for "
        "others) + sums over groups",
        SOURCE,
    )


def _lookups(work: Gather, split: TableSplits, chip: Chip) -> Evaluated:
    size = item_bytes(work.dtype)
    several = split.rows > 1
    table = np.where(split.lookups > 1, split.table_bytes, 0)
    indices = split.per_pass * _INDEX_BYTES
    first = Stage(
        "lookup",
        _copy_cycles(split.width, split.per_pass, split.rows, size, chip),
        _exchange(table + indices, chip),
        _sync(split.rows > 0, chip),
    )
    picked = -(-split.per_pass // split.rows)
    moved = np.where(several, split.rows * picked * split.width * size, 0)
    second = Stage(
        "lookup, second stage",
        np.where(several, _copy_cycles(split.width, picked, split.rows, size, chip), 0.0),
        _exchange(moved, chip),
        _sync(several, chip),
    )
    found = np.where(several, split.per_pass * split.width * size, 0)
    temporary = np.maximum(table + found + indices, found + moved).astype(np.float64)
    return Evaluated(split, [first, second], temporary)


def _updates(work: Scatter, split: TableSplits, chip: Chip) -> Evaluated:
    size = item_bytes(work.dtype)
    # sums of halves are kept as floats until they are added to the table
    partial = max(size, 4) if work.operation == "add" else size
    contexts = chip.worker_contexts
    rows = np.where(split.rows > 1, split.per_pass * split.width * partial, 0)
    indices = split.per_pass * _INDEX_BYTES
    update = Stage(
        "update",
        _set_cycles(split, size, chip) if work.operation == "set" else _update_cycles(split, partial, chip),
        _exchange(rows + indices, chip),
        _sync(split.rows > 0, chip),
        flops=0.0 if work.operation == "set" else float(work.updates * work.width),
    )
    grouped = split.lookups > 1
    vector = chip.vector_width("fp32")
    elements = split.entries * split.width
    zero = contexts * (23 + np.ceil(elements / vector / contexts))
    # every tile of a group sums its share of the partial sums of all groups
    share = -(-elements // split.lookups)
    moved = np.where(grouped, share * (split.lookups - 1) * 4, 0)
    loops = np.ceil(share / (2 * vector) / contexts)
    sums = 33 + contexts * (20 + loops * (2 * split.lookups + 8))
    add = 50 + contexts * (21 + 3 * np.ceil(share / vector / contexts))
    final = Stage(
        "update, sums",
        np.where(grouped, zero + sums, 0.0) + np.where(grouped | (partial != size), add, 0.0),
        _exchange(moved, chip),
        _sync(grouped, chip),
        every_pass=False,
    )
    temporary = (rows + indices + np.where(grouped, 4 * elements + moved, 0)).astype(np.float64)
    return Evaluated(split, [update, final], temporary)


def _exchange(received: Integers, chip: Chip) -> Floats:
    cycles = np.ceil(received / chip.exchange_bytes_per_cycle) + chip.exchange_latency_cycles
    return np.where(received > 0, cycles, 0.0)


def _sync(needed: NDArray[np.bool_], chip: Chip) -> Floats:
    return np.where(needed, float(chip.sync_cycles), 0.0)


def _copy_cycles(width: Integers, lookups: Integers, rows: Integers, size: int, chip: Chip) -> Floats:
    """A vertex that copies the rows it has, one of `rows` parts of the table, out of those asked for."""
    mine = -(-lookups // chip.worker_contexts)
    found = -(-mine // rows)
    vectors, cycles = _vectors(width, size, chip)
    # a single row is cut over the workers
    vectors = np.where(lookups == 1, -(-vectors // chip.worker_contexts), vectors)
    return np.asarray(chip.worker_contexts * (30.0 + found * (19 + vectors * cycles) + (mine - found) * 8))


def _update_cycles(split: TableSplits, partial: int, chip: Chip) -> Floats:
    """A vertex in which each worker owns rows of the table and looks through all updates for them."""
    owners = split.rows * np.minimum(chip.worker_contexts, split.entries)
    found = -(-split.per_pass // owners)
    words = np.maximum(1, split.width * partial // 4)
    by_element = split.width * partial % 4 != 0
    each = np.where(by_element, 12 + 20 * split.width, 11 + int(partial < 4) + 3 * (words - 1))
    return np.asarray(chip.worker_contexts * (38.0 + found * each + (split.per_pass - found) * 5))


def _set_cycles(split: TableSplits, size: int, chip: Chip) -> Floats:
    found = -(-split.per_pass // (split.rows * np.minimum(chip.worker_contexts, split.entries)))
    vectors, cycles = _vectors(split.width, size, chip)
    return np.asarray(
        chip.worker_contexts * (29.0 + found * (19 + vectors * cycles) + (split.per_pass - found) * 8)
    )


def _vectors(width: Integers, size: int, chip: Chip) -> tuple[Integers, int]:
    """Turns of the copying loop for a row, and cycles of each."""
    elements, cycles = {1: (4, 3), 2: (2, 2)}.get(size, (max(1, chip.data_path_bytes // size), 2))
    return -(-width // elements), cycles
