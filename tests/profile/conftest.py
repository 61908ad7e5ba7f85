"""Profiles as earlier versions wrote them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.profile import Profile
from tremula.profile.migrate import TABLES_OF_VERSION
from tremula.profile.rows import Digest, digest_of
from tremula.profile.schema import APPLICATION_ID, BATCH_ROWS, META


@pytest.fixture
def older() -> Callable[..., Path]:
    """Writes a profile as an earlier version did."""
    return _older


def _older(source: Path, path: Path, version: int = 1) -> Path:
    """The profile at `source` as an earlier version wrote it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={version}")
    connection.execute("BEGIN")
    meta = {"format": "tremula profile", "written_by": "tremula 0.0"}
    with Profile(source) as profile:
        uses = {category.id: category.name for category in profile.categories}
        for name, table in TABLES_OF_VERSION[version].items():
            connection.execute(table.sql)
            if name == META.name:
                continue
            rows = []
            for row in (
                profile.programs if name == "programs" else profile.rows(TABLES_OF_VERSION[3][name].row)
            ):
                values = {n: getattr(row, n) for n in type(row).__dataclass_fields__}
                if version == 1 and "category_id" in values:
                    values["category"] = uses[values["category_id"]]
                rows.append(tuple(values[column] for column in table.names))
            if name == "breakdown":  # the host was one part
                host = sum(cycles for part, cycles in rows if part.startswith("host_"))
                rows = [row for row in rows if not row[0].startswith("host_")] + [("host", host)]
            marks = ", ".join("?" * len(table.names))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            digest = Digest()
            for start in range(0, len(rows), BATCH_ROWS):
                digest.add(rows[start : start + BATCH_ROWS])
            meta[f"rows:{name}"] = str(len(rows))
            meta[f"digest:{name}"] = digest.text()
    listed = sorted(meta.items())
    listed.append(("digest", digest_of([(key, value) for key, value in listed])))
    connection.executemany("INSERT INTO meta VALUES (?, ?)", listed)
    connection.execute("COMMIT")
    connection.close()
    return path
