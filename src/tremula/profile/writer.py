"""Writes a profile: streamed into a file beside the final one, which it replaces when it is complete.

Rows go out in batches, so memory does not grow with the profile. A reader sees the old file or the new one,
never a part. The next writer in the folder removes what a killed one left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tremula import __version__
from tremula.atomic_files import PendingFile, cannot_write
from tremula.errors import Error
from tremula.private_files import Untrusted, make_directory
from tremula.profile.frame_writer import FrameSink
from tremula.profile.frames import FRAMES
from tremula.profile.model import Row
from tremula.profile.rows import Digest, Values, digest_of, to_file
from tremula.profile.schema import (
    APPLICATION_ID,
    BATCH_ROWS,
    COLUMNAR,
    COLUMNS,
    META,
    SCHEMA_VERSION,
    TABLE_OF,
    TABLES,
    Table,
    definitions,
)


class RowSink:
    """Rows and frames into an empty database of the current schema, with counts, digests and hashes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute("BEGIN")
        for sql in definitions().values():
            connection.execute(sql)
        self._waiting: dict[str, list[Values]] = {name: [] for name in TABLES if name != META.name}
        self._digests = {name: Digest() for name in self._waiting}
        self._counts = dict.fromkeys(self._waiting, 0)
        self._left_out = dict.fromkeys(self._waiting, 0)
        self._columnar: dict[str, list[Values]] = {}
        self._frames: dict[str, FrameSink] = {}

    def frame(self, name: str) -> FrameSink:
        """Where the rows of a frame go."""
        if name not in self._frames:
            self._frames[name] = FrameSink(self._connection, FRAMES[name])
        return self._frames[name]

    def add(self, row: Row) -> None:
        """One row; beyond what its table may hold it is counted and left out."""
        columnar = COLUMNAR.get(type(row))
        if columnar is not None:
            self._add_columnar(columnar, row)
            return
        table = TABLE_OF[type(row)]
        if self._counts[table.name] >= table.most_rows:
            self._left_out[table.name] += 1
            return
        waiting = self._waiting[table.name]
        waiting.append(to_file(table, row))
        self._counts[table.name] += 1
        if len(waiting) == BATCH_ROWS:
            self._flush(table)

    def finish(self, meta: Mapping[str, str]) -> None:
        """Write what waits and what the file says about itself."""
        for name, waiting in self._waiting.items():
            if waiting:
                self._flush(TABLES[name])
        rows = dict(meta)
        for name, digest in self._digests.items():
            rows[f"rows:{name}"] = str(self._counts[name])
            rows[f"digest:{name}"] = digest.text()
            if self._left_out[name]:
                rows[f"left_out:{name}"] = str(self._left_out[name])
        rows |= self._finish_frames()
        listed = sorted(rows.items())
        listed.append(("digest", digest_of([(key, value) for key, value in listed])))
        self._insert(META, listed)
        self._connection.execute("COMMIT")

    def _add_columnar(self, table: Table, row: Row) -> None:
        waiting = self._columnar.setdefault(table.name, [])
        waiting.append(to_file(table, row))
        if len(waiting) == BATCH_ROWS:
            self._flush_columnar(table)

    def _flush_columnar(self, table: Table) -> None:
        waiting = self._columnar.pop(table.name, [])
        if waiting:
            self.frame(table.name).add(
                dict(zip(table.names, map(list, zip(*waiting, strict=True)), strict=True))
            )

    def _finish_frames(self) -> dict[str, str]:
        """Write the directory of the frames; what `meta` says about them."""
        for table in COLUMNAR.values():
            self._flush_columnar(table)
        said = {}
        for name in FRAMES:
            sink = self.frame(name)
            sink.flush()
            said[f"rows:frame:{name}"] = str(sink.rows)
            if sink.left_out:
                said[f"left_out:frame:{name}"] = str(sink.left_out)
        directory = [to_file(COLUMNS, chunk) for name in FRAMES for chunk in self.frame(name).chunks]
        digest = Digest()
        for start in range(0, len(directory), BATCH_ROWS):
            digest.add(directory[start : start + BATCH_ROWS])
        self._insert(COLUMNS, directory)
        return said | {f"rows:{COLUMNS.name}": str(len(directory)), f"digest:{COLUMNS.name}": digest.text()}

    def _flush(self, table: Table) -> None:
        waiting = self._waiting[table.name]
        self._digests[table.name].add(waiting)
        self._insert(table, waiting)
        waiting.clear()

    def _insert(self, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(table.columns))
        self._connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)


class ProfileWriter:
    """A context in which rows are added; the file is there when it is left without an error."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.meta: dict[str, str] = {}
        self._pending = PendingFile(self.path, f"{_host()}.{os.getpid()}")

    def __enter__(self) -> ProfileWriter:
        folder = self.path.parent
        try:
            make_directory(folder, permissions=0o755)
            remove_leftovers(self.path)
            self._pending.create().close()
            self._connection = sqlite3.connect(self._pending.temporary, isolation_level=None)
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "page_size=4096"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._sink = RowSink(self._connection)
        except (OSError, Untrusted, sqlite3.Error) as error:
            explained = error if isinstance(error, Untrusted) else self._pending.explained(error)
            self._discard()
            raise _cannot_write(self.path, explained) from error
        return self

    def add(self, row: Row) -> None:
        """Write a row."""
        try:
            self._sink.add(row)
        except sqlite3.Error as error:
            raise _cannot_write(self.path, self._pending.explained(error)) from error

    def frame(self, name: str) -> FrameSink:
        """Where the rows of a frame go: `writer.frame("steps").add({"run": 0, "start": starts, ...})`."""
        return self._sink.frame(name)

    def extend(self, rows: Iterable[Row]) -> None:
        """Write several."""
        for row in rows:
            self.add(row)

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is not None:
            explained = self._pending.explained(error) if isinstance(error, sqlite3.Error) else None
            self._discard()
            if explained is not None:
                raise _cannot_write(self.path, explained) from error
            return
        try:
            self._publish()
        except (OSError, sqlite3.Error) as problem:
            explained = self._pending.explained(problem)
            self._discard()
            raise _cannot_write(self.path, explained) from problem
        except BaseException:
            self._discard()
            raise

    def _publish(self) -> None:
        self._sink.finish(
            {
                "format": "tremula profile",
                "written_by": f"tremula {__version__}",
                "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
                **self.meta,
            }
        )
        self._connection.close()
        self._pending.commit()

    def _discard(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()
        self._pending.discard()


def remove_leftovers(path: Path) -> None:
    """Remove unfinished files of writers of `path` on this host that are not alive any more."""
    pattern = re.compile(
        rf"\.{re.escape(path.name)}\.{re.escape(_host())}\.(\d{{1,10}})\.[0-9a-f]{{8,16}}\.part"
    )
    for entry in os.listdir(path.parent):
        found = pattern.fullmatch(entry)
        if found and not _alive(int(found[1])):
            with contextlib.suppress(OSError):
                (path.parent / entry).unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:64] or "host"


def _cannot_write(path: Path, error: Exception) -> Error:
    why = cannot_write(path, error) if isinstance(error, OSError) else f"{path} cannot be written: {error}."
    return Error(
        f"The profile {why} An earlier profile there is unchanged. Set autoReport.directory to another folder.",
        type="profile_error",
    )
