"""Reads tables: every value checked, the rows compared with the digest that the writer left.

A digest that matches says that the rows are those that were written, not that they are true or that their writer
meant well. The number of rows is bounded before they are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tremula.profile.database import bad, query_timeout
from tremula.profile.rows import Digest, Values, digest_of, fault
from tremula.profile.schema import BATCH_ROWS, META, Table


def read_meta(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    """What the file says about itself, checked against its own digest."""
    with query_timeout(connection):
        rows = connection.execute(f"SELECT key, value FROM meta LIMIT {META.most_rows + 1}").fetchall()
    if len(rows) > META.most_rows:
        raise bad(path, "its table meta is too long")
    for row in rows:
        problem = fault(META, row)
        if problem:
            raise bad(path, f"the file is damaged (meta: {problem})")
    entries: list[Values] = [(key, value) for key, value in rows if key != "digest"]
    found = dict(rows)
    if len(found) != len(rows) or found.get("digest") != digest_of(entries):
        raise bad(path, "the file is damaged or incomplete (meta does not match its digest)")
    return found


def read_rows(
    connection: sqlite3.Connection, path: Path, table: Table, meta: Mapping[str, str]
) -> list[Values]:
    """All rows of `table`, in the order in which they were written."""
    count = count_of(path, table.name, table.most_rows, meta)
    names = ", ".join(table.names)
    digest = Digest()
    rows: list[Values] = []
    with query_timeout(connection):
        cursor = connection.execute(f"SELECT {names} FROM {table.name} ORDER BY rowid LIMIT {count + 1}")
        while batch := cursor.fetchmany(BATCH_ROWS):
            for row in batch:
                problem = fault(table, row)
                if problem:
                    raise bad(path, f"the file is damaged (row {len(rows)} of {table.name}: {problem})")
            digest.add(batch)
            rows.extend(batch)
    if len(rows) != count or digest.text() != meta.get(f"digest:{table.name}"):
        raise bad(path, f"the file is damaged (the rows of {table.name} do not match their digest)")
    return rows


def count_of(path: Path, name: str, most: int, meta: Mapping[str, str]) -> int:
    """Number of rows of a table, or of a frame (`frame:` and its name), as `meta` has it."""
    text: Any = meta.get(f"rows:{name}", "")
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) > most:
        raise bad(path, f"its number of rows of {name} is {text[:20]!r}")
    return int(text)
