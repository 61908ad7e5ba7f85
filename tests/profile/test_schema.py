"""The schema is made from the row classes, and the documentation holds it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tremula.profile import schema

_PAGE = Path(__file__).parents[2] / "docs" / "profile.md"


def test_the_reference_page_has_every_table_and_column() -> None:
    text = _PAGE.read_text(encoding="utf-8")
    assert schema.reference().strip() in text, "put tremula.profile.schema.reference() into docs/profile.md"
    assert f"Version {schema.SCHEMA_VERSION} " in text


@pytest.mark.parametrize("table", schema.TABLES.values(), ids=lambda table: table.name)
def test_a_table_can_be_made_and_keeps_its_definition(table: schema.Table) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(table.sql)
    assert connection.execute("SELECT sql FROM sqlite_schema").fetchone()[0] == table.sql
    listed = connection.execute(f"PRAGMA table_info({table.name})").fetchall()
    assert [row[1] for row in listed] == list(table.names)
    assert all(row[3] for row in listed), "every column has a value"
    connection.close()


def test_every_column_says_what_it_means() -> None:
    for table in schema.TABLES.values():
        assert table.summary.endswith(".")
        assert all(column.meaning for column in table.columns)
