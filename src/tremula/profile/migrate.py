"""Files of older schema versions, read as if they were written today.

Version 1 named the use of memory in each row of `tile_memory` and `contributors` instead of listing them, did not
know the module of an op, and kept no reasons. A migrated profile has the uses listed, modules that are empty and
reasons that say that there are none. The user's file is only read; the new form lives in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tremula.profile import model
from tremula.profile.database import check_definitions
from tremula.profile.schema import META, TABLES, Table
from tremula.profile.table_reader import read_meta, read_rows
from tremula.profile.writer import RowSink

_NO_REASON = model.Json('{"plan":"not recorded: the profile was written with schema version 1"}')
#: uses of memory that come and go, by the names of version 1
_COME_AND_GO = frozenset({"activations", "temporaries"})


@dataclass(frozen=True, slots=True)
class TileMemoryV1:
    """Version 1: the use is a text."""

    ipu: Annotated[int, ""]
    category: Annotated[str, ""]
    total_bytes: Annotated[int, ""]
    tiles: Annotated[int, ""]
    bytes_per_tile: Annotated[bytes, ""]


@dataclass(frozen=True, slots=True)
class ContributorV1:
    """Version 1: the use is a text."""

    ipu: Annotated[int, ""]
    category: Annotated[str, ""]
    name: Annotated[str, ""]
    bytes: Annotated[int, ""]


@dataclass(frozen=True, slots=True)
class OpV1:
    """Version 1: without a module."""

    id: Annotated[int, ""]
    name: Annotated[str, ""]
    target: Annotated[str, ""]
    phase: Annotated[str, ""]
    ipu: Annotated[int, ""]
    stage: Annotated[int, ""]
    source_file: Annotated[str, ""]
    source_line: Annotated[int, ""]
    source_function: Annotated[str, ""]
    runs: Annotated[int, ""]
    merged: Annotated[int, ""]
    compute_cycles: Annotated[float, ""]
    exchange_cycles: Annotated[float, ""]
    sync_cycles: Annotated[float, ""]
    flops: Annotated[float, ""]
    temporary_bytes: Annotated[int, ""]
    unknown: Annotated[int, ""]
    plan_id: Annotated[int, ""]


@dataclass(frozen=True, slots=True)
class PlanV1:
    """Version 1: without the reason."""

    id: Annotated[int, ""]
    cycles: Annotated[float, ""]
    temporary_bytes: Annotated[int, ""]
    vertex_code_bytes: Annotated[int, ""]
    vertex_state_bytes: Annotated[int, ""]
    exchange_code_bytes: Annotated[int, ""]
    control_code_bytes: Annotated[int, ""]


_CHANGED = {
    "tile_memory": TileMemoryV1,
    "contributors": ContributorV1,
    "ops": OpV1,
    "plans": PlanV1,
}

TABLES_V1: Mapping[str, Table] = {
    name: Table(name, _CHANGED.get(name, table.row), table.most_rows)
    for name, table in TABLES.items()
    if name != "categories"
}


def migrated(old: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """A database in memory of the current schema, with the rows of one of version 1.

    Raises Error if the old one is damaged.
    """
    check_definitions(old, path, {name: table.sql for name, table in TABLES_V1.items()})
    meta = read_meta(old, path)
    new = sqlite3.connect(":memory:", isolation_level=None)
    sink = RowSink(new)
    uses: dict[str, int] = {}
    for name, table in TABLES_V1.items():
        if name == META.name:
            continue
        for values in read_rows(old, path, table, meta):
            sink.add(_current(table.row(*values), uses))
    for use, number in uses.items():
        sink.add(model.Category(number, use, int(use not in _COME_AND_GO)))
    kept = {k: v for k, v in meta.items() if k != "digest" and not k.startswith(("rows:", "digest:"))}
    sink.finish({**kept, "migrated_from_version": "1"})
    return new


def _current(row: object, uses: dict[str, int]) -> model.Row:
    if isinstance(row, TileMemoryV1):
        number = uses.setdefault(row.category, len(uses))
        return model.TileMemory(row.ipu, number, row.total_bytes, row.tiles, row.bytes_per_tile)
    if isinstance(row, ContributorV1):
        return model.Contributor(row.ipu, uses.setdefault(row.category, len(uses)), row.name, row.bytes)
    if isinstance(row, OpV1):
        values = {name: getattr(row, name) for name in OpV1.__dataclass_fields__}
        return model.Op(module="", **values)
    if isinstance(row, PlanV1):
        values = {name: getattr(row, name) for name in PlanV1.__dataclass_fields__}
        return model.Plan(why=_NO_REASON, **values)
    return row  # type: ignore[return-value]  # the classes of the other tables have not changed
