"""How lookups in a table are cut over tiles: the table's rows, each row, the lookups; and the search over that.

With split lookups several groups of tiles each handle some of them, and the table is sent to all groups. Where
the temporaries would not fit, lookups are handled in several passes. The search is that of PopLibs
popops/DynamicSlice.cpp, with the constraint that a tile has at least two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.hardware.chip import Chip
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes
from tremula.plan.partition import Integers, part_size, product, splits
from tremula.program.dtypes import item_bytes

Floats = NDArray[np.float64]
#: passes over the lookups that are tried
_PASSES = (1, 2, 4, 8, 16, 64, 256)
#: share of a tile's memory that its part of the table may take if the table is not very large; PopLibs instead
#: charges for moving a table that lies unevenly, which makes wider tables cheaper at times
_TABLE_SHARE = 0.5


@dataclass(frozen=True)
class TableSplits:
    """Candidates, one per element of the arrays, and what the fullest tile then has."""

    #: parts of a row, of the table's rows, of the lookups
    columns: Integers
    rows: Integers
    lookups: Integers
    passes: Integers
    #: elements of a row, rows, and lookups of one pass on a tile
    width: Integers
    entries: Integers
    per_pass: Integers
    #: bytes of the table on a tile
    table_bytes: Integers

    @property
    def tiles(self) -> Integers:
        """Tiles in use."""
        return np.asarray(self.columns * self.rows * self.lookups)

    def name(self, index: int) -> str:
        """The plan in words."""
        passes = f", {self.passes[index]} passes" if self.passes[index] > 1 else ""
        return (
            f"{self.tiles[index]} tiles: table rows / {self.rows[index]}, row / {self.columns[index]}, "
            f"lookups / {self.lookups[index]}{passes}"
        )


@dataclass(frozen=True)
class Stage:
    """One superstep of every candidate."""

    name: str
    compute: Floats
    exchange: Floats
    sync: Floats
    #: whether it happens in every pass
    every_pass: bool = True
    flops: float = 0.0


@dataclass(frozen=True)
class Evaluated:
    """What candidates cost."""

    splits: TableSplits
    stages: list[Stage]
    temporary: Floats

    @property
    def cycles(self) -> Floats:
        """All cycles of each candidate."""
        total = np.zeros(len(self.temporary))
        for stage in self.stages:
            cycles = stage.compute + stage.exchange + stage.sync
            total += cycles * self.splits.passes if stage.every_pass else cycles
        return total


def candidates(
    entries: int,
    width: int,
    lookups: int,
    dtype: str,
    chip: Chip,
    passes: tuple[int, ...],
    groups: tuple[int, ...],
) -> TableSplits:
    """Splits worth comparing, with lookups in so many groups as `groups` says and tiles and lookups allow."""
    size = item_bytes(dtype)
    grain = max(1, min(width, chip.data_path_bytes // size))
    grains = -(-width // grain)
    columns, rows = product([splits(grains, chip.tiles), splits(-(-entries // 2), chip.tiles)], chip.tiles)
    most = np.minimum(chip.tiles // (columns * rows), lookups)
    several = [np.minimum(most, number) for number in groups]
    kept = [
        number > earlier for number, earlier in zip(several, [np.zeros_like(most), *several], strict=False)
    ]
    columns, rows = (np.concatenate([axis[keep] for keep in kept]) for axis in (columns, rows))
    chosen = np.concatenate([number[keep] for number, keep in zip(several, kept, strict=True)])
    parts = part_size(lookups, part_size(lookups, chosen))
    times = np.repeat(np.array(passes), len(parts))
    columns, rows, parts = (np.tile(axis, len(passes)) for axis in (columns, rows, parts))
    tile_grains = part_size(grains, columns)
    tile_entries = part_size(entries, rows)
    return TableSplits(
        columns,
        rows,
        parts,
        times,
        width=tile_grains * grain,
        entries=tile_entries,
        per_pass=part_size(lookups, parts * times),
        table_bytes=tile_grains * tile_entries * grain * size,
    )


def cheapest(
    evaluate: Callable[[tuple[int, ...]], Evaluated],
    lookups: int,
    proportion: float,
    chip: Chip,
    formula: str,
    source: str,
) -> Cost:
    """The plan with the fewest cycles among those that fit, or the smallest if none does."""
    bound = proportion * chip.tile_memory_bytes
    found = evaluate((1,))
    order = _spread_enough(found, chip)
    best = int(order[0])
    if found.temporary[best] > bound:
        # one pass is never slower than several, so they are looked at only where it does not fit
        found = evaluate(tuple(p for p in _PASSES if p <= max(1, lookups)))
        order = _spread_enough(found, chip)
        fitting = order[found.temporary[order] <= bound]
        best = int(fitting[0]) if len(fitting) else int(order[np.argmin(found.temporary[order])])
    return _cost(found, best, order, bound, lookups, chip, formula, source)


def _spread_enough(found: Evaluated, chip: Chip) -> Integers:
    """Candidates in order of cycles, without those that pile the table up on a few tiles."""
    order = np.argsort(found.cycles, kind="stable")
    table = found.splits.table_bytes[order]
    most = _TABLE_SHARE * chip.tile_memory_bytes
    if table.min() > most:
        # of a very large table, no more than twice what an even spread would leave on a tile
        most = 2.0 * float(table.min())
    return order[table <= most]


def _cost(
    found: Evaluated,
    best: int,
    order: Integers,
    bound: float,
    lookups: int,
    chip: Chip,
    formula: str,
    source: str,
) -> Cost:
    split = found.splits
    cycles = found.cycles
    passes = int(split.passes[best])
    handled = int(split.lookups[best]) * passes * int(split.per_pass[best])
    steps = tuple(
        Superstep(
            stage.name,
            compute_cycles=float(stage.compute[best]),
            exchange_cycles=float(stage.exchange[best]),
            sync_cycles=float(stage.sync[best]),
            tiles=int(split.tiles[best]),
            balance=lookups / handled,
            repeats=passes if stage.every_pass else 1,
            flops=stage.flops / passes if stage.every_pass else stage.flops,
        )
        for stage in found.stages
        if stage.compute[best] or stage.exchange[best]
    )
    received = sum(step.exchange_cycles for step in steps) * chip.exchange_bytes_per_cycle
    others = [int(i) for i in order[:4] if i != best][:2]
    return Cost(
        supersteps=steps,
        bytes=compute_set_bytes(
            "copy",
            chip,
            edges=3,
            temporary=float(found.temporary[best]),
            exchange_code=exchange_code_bytes(received, chip, int(split.rows[best] + split.lookups[best])),
            compute_sets=len(steps),
        ),
        why=Why(
            plan=split.name(best),
            formula=formula,
            source=source,
            figures={"temporary bytes per tile": float(found.temporary[best]), "bound on them": bound},
            alternatives=tuple(
                Alternative(
                    split.name(i),
                    float(cycles[i]),
                    "more cycles" if found.temporary[i] <= bound else "temporaries above the bound",
                )
                for i in others
            ),
        ),
    )
