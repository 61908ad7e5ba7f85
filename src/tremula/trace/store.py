"""The file of a trace while it is written: batches are added one by one, each in a transaction of its own.

A process that is killed leaves a file with all batches that were added, and at most a journal that undoes half of one;
`snapshot` reads both. Nothing is flushed to the disk itself: a trace does not have to survive a power cut.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from pathlib import Path

from tremula.atomic_files import PendingFile
from tremula.trace.names import file_name
from tremula.trace.schema import APPLICATION_ID, PAGE_BYTES, SCHEMA_VERSION, TABLES

#: names that are tried
_TRIES = 1000


class Store:
    """A new trace file in a folder.

    Attributes:
        path: its name.
        size: bytes of all batches.
    """

    def __init__(self, folder: Path, pid: int, first: bytes) -> None:
        """The file appears with the batch `first` in it. Raises OSError or sqlite3.Error if it cannot be made."""
        self.size = len(first)
        folder.mkdir(parents=True, exist_ok=True)
        name = file_name(pid, time.localtime(), colons=sys.platform != "win32")
        self.path = _made(folder / name, first)
        self._connection = _connected(self.path)

    def add(self, number: int, content: bytes) -> None:
        """Add a batch."""
        self._connection.execute("INSERT INTO batches VALUES (?, ?)", (number, content))
        self.size += len(content)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _made(path: Path, first: bytes) -> Path:
    """A trace of one batch at `path`, or beside it if there is one already."""
    for again in range(_TRIES):
        target = path if not again else path.with_name(f"{path.stem}_{again}{path.suffix}")
        pending = PendingFile(target)
        try:
            pending.create().close()
            connection = _connected(pending.temporary)
            try:
                connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                for definition in TABLES.values():
                    connection.execute(definition)
                connection.execute("INSERT INTO batches VALUES (1, ?)", (first,))
            finally:
                connection.close()
            pending.publish(replace=False)
            return target
        except FileExistsError:
            continue
        finally:
            pending.discard()
            with contextlib.suppress(OSError):  # at the end of a process, `discard` does nothing any more
                pending.temporary.unlink()
    raise FileExistsError(f"{path} and {_TRIES - 1} names beside it are taken")


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("PRAGMA mmap_size=0")
    return connection
