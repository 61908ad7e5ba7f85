"""Opens a file of unknown origin as a database that can do no harm.

Read-only and immutable, with SQLite's own defences on, a limit on sizes and on the time that a query may take.
Only tables whose definitions are exactly those of a known schema are accepted: no views, triggers, indexes or
generated columns, so opening the file runs nothing that is written in it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from tremula.errors import Error
from tremula.profile.schema import APPLICATION_ID, MAX_BLOB, MAX_FILE_BYTES, OLDEST_VERSION, SCHEMA_VERSION

_MAGIC = b"SQLite format 3\0"
#: instructions of SQLite's machine between two looks at the clock
_INSTRUCTIONS = 100_000
#: seconds that one query may take
_QUERY_TIMEOUT_SECONDS = 60.0


def bad(path: Path, what: str) -> Error:
    """The error for a file that is not what it should be."""
    return Error(
        f"{path} cannot be read as a profile: {what}. Write it anew: `tremula profile PROGRAM`, or run the program "
        "with autoReport.all in POPLAR_ENGINE_OPTIONS.",
        type="profile_error",
    )


@contextlib.contextmanager
def errors_translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite or a conversion, as a damaged file causes them, into an `Error`."""
    try:
        yield
    except (sqlite3.Error, UnicodeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise bad(path, f"the file is damaged ({error})") from error


def open_database(path: Path) -> tuple[sqlite3.Connection, int]:
    """A connection to the profile at `path`, checked page by page, and the version of its schema.

    Raises Error if there is no such file, it is no profile, a damaged one, or one of a newer version.
    """
    _look_at_file(path)
    with errors_translated(path):
        connection = sqlite3.connect(
            f"file:{quote(os.fspath(path.absolute()))}?mode=ro&immutable=1", uri=True, isolation_level=None
        )
        try:
            return connection, _harden_and_check(connection, path)
        except BaseException:
            connection.close()
            raise


def _look_at_file(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise bad(path, "it is not a regular file")
            head = file.read(100)
    except OSError as error:
        raise Error(
            f"The profile {path} cannot be opened: {error.strerror or error}. `tremula profile PROGRAM` writes one.",
            type="profile_error",
        ) from error
    if not head.startswith(_MAGIC) or len(head) < 100:
        raise bad(path, "it is not an SQLite file")
    if status.st_size > MAX_FILE_BYTES:
        raise bad(path, f"it has {status.st_size:,} bytes, and no profile has more than {MAX_FILE_BYTES:,}")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise bad(
            path, "it is a database of something else (a profile of the original stack has another schema)"
        )


def _harden_and_check(connection: sqlite3.Connection, path: Path) -> int:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BLOB + 1024)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in (
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "query_only=ON",
        "mmap_size=0",
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")
    with query_timeout(connection):
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise Error(
                f"{path} has version {version} of the profile schema, and this Tremula reads versions "
                f"{OLDEST_VERSION} to {SCHEMA_VERSION}. Use a newer Tremula, or write the profile anew with this one.",
                type="profile_error",
            )
        if version < OLDEST_VERSION:
            raise bad(path, f"it has no known version of the schema ({version})")
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise bad(path, f"the file is damaged ({str(found and found[0])[:200]})")
    return version


@contextlib.contextmanager
def query_timeout(connection: sqlite3.Connection) -> Iterator[None]:
    """Queries in this context fail after a timeout, whatever the file contains."""
    deadline = time.monotonic() + _QUERY_TIMEOUT_SECONDS
    handler: Callable[[], int] = lambda: int(time.monotonic() > deadline)  # noqa: E731
    connection.set_progress_handler(handler, _INSTRUCTIONS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, _INSTRUCTIONS)


def check_definitions(connection: sqlite3.Connection, path: Path, expected: Mapping[str, str]) -> None:
    """Insist that the database has the tables `expected` (name to SQL) and nothing else."""
    with query_timeout(connection):
        listed = connection.execute("SELECT type, name, sql FROM sqlite_schema LIMIT 200").fetchall()
    found = {str(name): sql for kind, name, sql in listed if kind == "table"}
    if len(found) != len(listed):
        raise bad(path, "it has views, triggers or indexes, which no profile has")
    if found != dict(expected):
        differing = sorted(
            {*found, *expected} - {n for n in expected if n in found and found[n] == expected[n]}
        )
        names = ", ".join(name[:40] for name in differing[:5])
        raise bad(path, f"its tables are not those of a profile ({names!r} differ)")
