"""Files of older schema versions, read as if they were written today.

Version 3 had no frames: ops and the program tree were tables, and variables were known by their lifetimes only.
Version 2 had no advice. Version 1 named the use of memory in each row of `tile_memory` and `contributors` instead of
listing them, did not know the module of an op, and kept no reasons. A migrated profile has the uses listed, modules
that are empty and reasons that say that there are none; its frames hold what follows from the tables, and no execution
steps. The user's file is only read; the new form lives in memory.
"""

from __future__ import annotations

import sqlite3
import typing
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, Any

from tremula.errors import Error, about_file
from tremula.profile import model
from tremula.profile.database import check_definitions
from tremula.profile.migrate_frames import add_frames
from tremula.profile.schema import META, OPS, TABLES, Table
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


_CHANGED = {
    **{name: _older(TABLES[name].row) for name in ("tile_memory", "contributors", "plans")},
    OPS.name: _older(OPS.row),
}
_PROGRAMS = Table("programs", model.ProgramNode, 210_000)

TABLES_V3: Mapping[str, Table] = {
    **{name: table for name, table in TABLES.items() if name not in ("vertex_types", "runs")},
    OPS.name: OPS,
    _PROGRAMS.name: _PROGRAMS,
}
TABLES_V2: Mapping[str, Table] = {name: table for name, table in TABLES_V3.items() if name != "advice"}
TABLES_V1: Mapping[str, Table] = {
    name: Table(name, _CHANGED.get(name, table.row), table.most_rows)
    for name, table in TABLES_V2.items()
    if name != "categories"
}
TABLES_OF_VERSION: Mapping[int, Mapping[str, Table]] = {1: TABLES_V1, 2: TABLES_V2, 3: TABLES_V3}


def migrated(old: sqlite3.Connection, path: Path, version: int) -> sqlite3.Connection:
    """A database in memory of the current schema, with the rows of one of an older version.

    Raises Error if the old one is damaged.
    """
    tables = TABLES_OF_VERSION[version]
    check_definitions(old, path, {name: table.sql for name, table in tables.items()})
    meta = read_meta(old, path)
    new = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        sink = RowSink(new)
        rows: dict[type, list[Any]] = defaultdict(list)
        uses: dict[str, int] = {}
        for name, table in tables.items():
            if name == META.name:
                continue
            for values in read_rows(old, path, table, meta):
                row = _current(name, dict(zip(table.names, values, strict=True)), uses, version)
                rows[type(row)].append(row)
                if not isinstance(row, model.ProgramNode):
                    sink.add(row)
        for use, number in uses.items():
            category = model.Category(number, use, int(use not in _COME_AND_GO))
            rows[model.Category].append(category)
            sink.add(category)
        add_frames(sink, rows)
        kept = {k: v for k, v in meta.items() if k != "digest" and not k.startswith(("rows:", "digest:"))}
        sink.finish({**kept, "migrated_from_version": str(version)})
    except BaseException as problem:
        new.close()
        if isinstance(problem, Error):
            raise about_file(problem, str(path)) from problem.__cause__
        raise
    return new


def _current(name: str, values: dict[str, Any], uses: dict[str, int], version: int) -> Any:
    """The row of today for the columns of a row of an older version."""
    if "category" in values:
        values["category_id"] = uses.setdefault(values.pop("category"), len(uses))
    missing = {"ops": {"module": ""}, "plans": {"why": _NO_REASON}}.get(name, {}) if version == 1 else {}
    return TABLES_V3[name].row(**values, **missing)
