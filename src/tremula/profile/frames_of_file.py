"""The frames of an open file: their directory, read when a frame is first asked for, and where chunks come from."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tremula.profile import model
from tremula.profile.database import errors_translated, query_timeout
from tremula.profile.frame_reader import Frame, frames_of
from tremula.profile.frames import FRAMES
from tremula.profile.schema import COLUMNS, TABLES
from tremula.profile.table_reader import count_of, read_rows


class FramesOfFile:
    """A database of the current schema with its frames."""

    def __init__(self, connection: sqlite3.Connection, path: Path, meta: Mapping[str, str]) -> None:
        self.path = path
        self.meta = meta
        self._connection = connection
        self._lock = threading.RLock()  # one reader at a time: servers answer in several threads

    def frame(self, name: str) -> Frame:
        """The frame `name`: programs, compute_sets, steps, lanes, pyramid, variables, vertices, contexts ..."""
        return self._frames[name]

    @functools.cached_property
    def _frames(self) -> dict[str, Frame]:
        with self._guarded():
            rows = read_rows(self._connection, self.path, COLUMNS, self.meta)
            directory = [model.ColumnChunk(*each) for each in rows]
            return frames_of(directory, self._count, self._fetch, self._guarded)

    def _count(self, name: str) -> int:
        """Number of rows of a frame, or of a table."""
        if name in FRAMES:
            if FRAMES[name].optional and f"rows:frame:{name}" not in self.meta:
                return 0
            return count_of(self.path, f"frame:{name}", FRAMES[name].most_rows, self.meta)
        return count_of(self.path, name, TABLES[name].most_rows, self.meta)

    def _fetch(self, blob: int) -> bytes:
        with query_timeout(self._connection):
            found = self._connection.execute("SELECT data FROM blobs WHERE rowid=?", (blob,)).fetchone()
        if found is None or type(found[0]) is not bytes:
            raise ValueError("the values of a frame are not there")
        data: bytes = found[0]
        return data

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """One reader at a time, and errors as a damaged file causes them translated."""
        with self._lock, errors_translated(self.path):
            yield
