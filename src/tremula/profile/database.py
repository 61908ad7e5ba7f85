"""Profiles as files of unknown origin: how they are recognised, and what an error about one says."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tremula import untrusted_sqlite
from tremula.profile.schema import (
    APPLICATION_ID,
    MAX_BLOB,
    MAX_FILE_BYTES,
    OLDEST_VERSION,
    SCHEMA_VERSION,
)
from tremula.untrusted_sqlite import FileKind, query_timeout

__all__ = ["bad", "check_definitions", "errors_translated", "open_database", "query_timeout"]

_PROFILE = FileKind(
    word="profile",
    application_id=APPLICATION_ID,
    oldest_version=OLDEST_VERSION,
    newest_version=SCHEMA_VERSION,
    most_file_bytes=MAX_FILE_BYTES,
    most_blob_bytes=MAX_BLOB,
    remedy="Write it again with `tremula profile PROGRAM`, or run the program with autoReport.all in "
    "POPLAR_ENGINE_OPTIONS.",
    confused_with="a profile of the original stack has another schema",
    error_type="profile_error",
)
#: a larger file has its tables of rows checked page by page; the arrays of frames have hashes
CHECKED_WHOLE_BYTES = 8 << 20

bad = _PROFILE.bad
errors_translated = _PROFILE.errors_translated


def open_database(path: Path) -> tuple[sqlite3.Connection, int]:
    """A connection to the profile at `path`, its pages checked, and the version of its schema.

    Raises Error if there is no such file, it is not a profile, a damaged one, or one of a newer version.
    """
    large = path.is_file() and path.stat().st_size > CHECKED_WHOLE_BYTES
    tables = ("meta", "columns", "target", "figures") if large else ()
    return untrusted_sqlite.open_untrusted(path, _PROFILE, checked_tables=tables)


def check_definitions(connection: sqlite3.Connection, path: Path, expected: Mapping[str, str]) -> None:
    """Insist that the database has the tables `expected` (name to SQL) and nothing else."""
    untrusted_sqlite.check_definitions(connection, path, _PROFILE, expected)
