"""Opens an SQLite file of unknown origin as a database that can do no harm.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tremula.errors import Error

_MAGIC = b"SQLite format 3\0"
#: instructions of SQLite's machine between two looks at the clock
_INSTRUCTIONS = 100_000
#: seconds that one query may take
_QUERY_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class FileKind:
    """A kind of database file: how it is recognised, what it may hold, and what an error says about it."""

    #: one word for it, as in "cannot be read as a profile"
    word: str
    #: the application id in the file's header
    application_id: int
    oldest_version: int
    newest_version: int
    most_file_bytes: int
    most_blob_bytes: int
    #: a sentence that says how to get a good file
    remedy: str
    #: what a file with another application id may be, in words; may be empty
    confused_with: str = ""
    error_type: str = "error"

    def bad(self, path: Path, what: str) -> Error:
        """The error for a file that is not what it should be."""
        return Error(f"{path} cannot be read as a {self.word}: {what}. {self.remedy}", type=self.error_type)

    @contextlib.contextmanager
    def errors_translated(self, path: Path) -> Iterator[None]:
        """Turn errors of SQLite or a conversion, as a damaged file causes them, into an `Error`."""
        try:
            yield
        except (
            sqlite3.Error, UnicodeError, ValueError, OverflowError, RecursionError, MemoryError
        ) as error:  # fmt: skip
            raise self.bad(path, f"the file is damaged ({error})") from error


def open_untrusted(
    path: Path, kind: FileKind, *, checked_tables: Sequence[str] = ()
) -> tuple[sqlite3.Connection, int]:
    """A connection to the file at `path`, its pages checked, and the version of its schema.

    With `checked_tables`, only pages of these tables are checked (of those that are there): for files with large
    tables whose every value is compared with a digest when it is read.
    Raises Error if there is no such file, it is of another kind, a damaged one, or one of a newer version.
    """
    _look_at_file(path, kind)
    with kind.errors_translated(path):
        connection = sqlite3.connect(
            f"file:{quote(os.fspath(path.absolute()))}?mode=ro&immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            return connection, _harden_and_check(connection, path, kind, checked_tables)
        except BaseException:
            connection.close()
            raise


def without_waiting(path: str, flags: int) -> int:
    """Opens a file for `open`; a pipe with nobody at its other end does not keep the reader waiting."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _look_at_file(path: Path, kind: FileKind) -> None:
    try:
        with open(path, "rb", opener=without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise kind.bad(path, "it is not a regular file")
            head = file.read(100)
    except OSError as error:
        raise Error(
            f"The {kind.word} {path} cannot be opened: {error.strerror or error}. {kind.remedy}",
            type=kind.error_type,
        ) from error
    if not head.startswith(_MAGIC) or len(head) < 100:
        raise kind.bad(path, "it is not an SQLite file")
    if status.st_size > kind.most_file_bytes:
        raise kind.bad(
            path,
            f"it has {status.st_size:,} bytes, and no {kind.word} has more than {kind.most_file_bytes:,}",
        )
    if int.from_bytes(head[68:72], "big") != kind.application_id:
        hint = f" ({kind.confused_with})" if kind.confused_with else ""
        raise kind.bad(path, f"it is a database of something else{hint}")


def _harden_and_check(
    connection: sqlite3.Connection, path: Path, kind: FileKind, checked_tables: Sequence[str]
) -> int:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, kind.most_blob_bytes + 1024)
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
        if version > kind.newest_version:
            raise Error(
                f"{path} has version {version} of the {kind.word} schema, and this Tremula reads versions "
                f"{kind.oldest_version} to {kind.newest_version}. Use a newer Tremula, or write the {kind.word} "
                "again with this one.",
                type=kind.error_type,
            )
        if version < kind.oldest_version:
            raise kind.bad(path, f"it has no known version of the schema ({version})")
        for check in _checks(connection, checked_tables):
            found = connection.execute(check).fetchone()
            if found is None or found[0] != "ok":
                raise kind.bad(path, f"the file is damaged ({str(found and found[0])[:200]})")
    return version


def _checks(connection: sqlite3.Connection, tables: Sequence[str]) -> list[str]:
    there = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema LIMIT 200")}
    if not tables or not set(tables) <= there:
        return ["PRAGMA quick_check(1)"]
    return [f"PRAGMA quick_check('{table}')" for table in ("sqlite_schema", *tables)]


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


def check_definitions(
    connection: sqlite3.Connection, path: Path, kind: FileKind, expected: Mapping[str, str]
) -> None:
    """Insist that the database has the tables `expected` (name to SQL) and nothing else."""
    with query_timeout(connection):
        listed = connection.execute("SELECT type, name, sql FROM sqlite_schema LIMIT 200").fetchall()
    found = {str(name): sql for each, name, sql in listed if each == "table"}
    if len(found) != len(listed):
        raise kind.bad(path, f"it has views, triggers or indexes, which no {kind.word} has")
    if found != dict(expected):
        differing = sorted(
            {*found, *expected} - {n for n in expected if n in found and found[n] == expected[n]}
        )
        names = ", ".join(name[:40] for name in differing[:5])
        raise kind.bad(path, f"its tables are not those of a {kind.word} ({names!r} differ)")
