"""Files of older schema versions, read as if they were written today.

Version 2 had no advice. Version 1 named the use of memory in each row of `tile_memory` and `contributors` instead of
listing them, did not know the module of an op, and kept no reasons. A migrated profile has the uses listed, modules
that are empty and reasons that say that there are none. The user's file is only read; the new form lives in memory.
"""

from __future__ import annotations

import sqlite3
import typing
from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, Any

from tremula.profile import model
from tremula.profile.database import check_definitions
from tremula.profile.schema import META, TABLES, Table
from tremula.profile.table_reader import read_meta, read_rows
from tremula.profile.writer import RowSink

_NO_REASON = '{"plan":"not recorded: the profile was written with schema version 1"}'
#: uses of memory that come and go, by the names of version 1
_COME_AND_GO = frozenset({"activations", "temporaries"})


def _older(row: type) -> type:
    """A row of version 1: the use of memory is a text, and there is no module and no reason."""
    columns: list[tuple[str, Any]] = []
    for name, kind in typing.get_type_hints(row, include_extras=True).items():
        if name == "category_id":
            columns.append(("category", Annotated[str, ""]))
        elif name not in ("module", "why"):
            columns.append((name, kind))
    return make_dataclass(f"{row.__name__}V1", columns, frozen=True, slots=True)


_CHANGED = {name: _older(TABLES[name].row) for name in ("tile_memory", "contributors", "ops", "plans")}

TABLES_V2: Mapping[str, Table] = {name: table for name, table in TABLES.items() if name != "advice"}
TABLES_V1: Mapping[str, Table] = {
    name: Table(name, _CHANGED.get(name, table.row), table.most_rows)
    for name, table in TABLES_V2.items()
    if name != "categories"
}


def migrated(old: sqlite3.Connection, path: Path, version: int) -> sqlite3.Connection:
    """A database in memory of the current schema, with the rows of one of an older version.

    Raises Error if the old one is damaged.
    """
    tables = TABLES_V1 if version == 1 else TABLES_V2
    check_definitions(old, path, {name: table.sql for name, table in tables.items()})
    meta = read_meta(old, path)
    new = sqlite3.connect(":memory:", isolation_level=None)
    sink = RowSink(new)
    uses: dict[str, int] = {}
    for name, table in tables.items():
        if name == META.name:
            continue
        for values in read_rows(old, path, table, meta):
            sink.add(_current(name, dict(zip(table.names, values, strict=True)), uses, version))
    for use, number in uses.items():
        sink.add(model.Category(number, use, int(use not in _COME_AND_GO)))
    kept = {k: v for k, v in meta.items() if k != "digest" and not k.startswith(("rows:", "digest:"))}
    sink.finish({**kept, "migrated_from_version": str(version)})
    return new


def _current(name: str, values: dict[str, Any], uses: dict[str, int], version: int) -> model.Row:
    """The row of today for the columns of a row of an older version."""
    if "category" in values:
        values["category_id"] = uses.setdefault(values.pop("category"), len(uses))
    missing = {"ops": {"module": ""}, "plans": {"why": _NO_REASON}}.get(name, {}) if version == 1 else {}
    row: model.Row = TABLES[name].row(**values, **missing)
    return row
