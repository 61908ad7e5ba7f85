"""Reads a trace file that may be in use, or that a killed process left behind.

A file whose writer was killed within a transaction has a journal beside it: the pages as they were before. SQLite would
put them back into the file itself, trusting names that the journal may hold. Here they are put into a copy, and nothing
but pages is taken from the journal.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tremula.errors import Error
from tremula.trace.schema import MOST_FILE_BYTES, PAGE_BYTES

Result = TypeVar("Result")

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
#: seconds between two looks at a file that is being written, and after which a journal that rests has no writer
_PAUSE = 0.05
_RESTS = 0.5
_TRIES = 100
#: bytes of a journal: it holds the few pages that a batch changes
_MOST_JOURNAL = 64 * 2**20


def read_consistently(path: Path, read: Callable[[Path], Result]) -> Result:
    """What `read` gives for the file at `path` between two transactions of its writer.

    `read` has to check what it reads: it is asked again if it fails while the file changes.
    """
    journal = path.with_name(path.name + "-journal")
    rests_since = time.monotonic()
    last_seen: object = None
    for _ in range(_TRIES):
        pending, before = _journal_state(journal), _state(path)
        if pending is not None:
            if pending != last_seen:
                last_seen, rests_since = pending, time.monotonic()
            elif time.monotonic() - rests_since >= _RESTS:
                return _read_undone(path, journal, read)
            time.sleep(_PAUSE)
            continue
        try:
            return read(path)
        except Error:
            if (_journal_state(journal), _state(path)) == (None, before):
                raise
        time.sleep(_PAUSE)
    raise Error(f"{path} changes all the time: it cannot be read as a trace now. Try again later.")


def _state(path: Path) -> tuple[int, int, bytes] | None:
    """What changes whenever the file does: size, time, and SQLite's counter of changes."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            return status.st_size, status.st_mtime_ns, file.read(100)[24:28]
    except OSError:
        return None


def _journal_state(journal: Path) -> tuple[int, int] | None:
    """Size and time of a journal that holds something; None otherwise."""
    if not journal.is_file():
        return None
    try:
        with open(journal, "rb") as file:
            status = os.fstat(file.fileno())
            begins = file.read(8) == _JOURNAL_MAGIC
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if begins else None


def _read_undone(path: Path, journal: Path, read: Callable[[Path], Result]) -> Result:
    with tempfile.TemporaryDirectory(prefix="tremula-trace-") as folder:
        copy = Path(folder) / path.name
        try:
            if path.stat().st_size > MOST_FILE_BYTES:
                return read(path)  # which refuses it
            shutil.copyfile(path, copy)
            with open(journal, "rb") as file:
                undo(copy, file.read(_MOST_JOURNAL))
        except OSError as problem:
            raise Error(f"The trace {path} cannot be read: {problem.strerror or problem}.") from problem
        try:
            return read(copy)
        except Error as problem:
            raise Error(problem.message.replace(str(copy), str(path)), type=problem.type) from problem


def undo(database: Path, journal: bytes) -> None:
    """Put the pages in a rollback journal back into the file at `database`."""
    if len(journal) < 28 or journal[:8] != _JOURNAL_MAGIC:
        return
    # the number of records (all ones: as many as there are), a salt of checksums, pages before, bytes of a sector
    # and of a page
    count, salt, pages, sector, page = (int.from_bytes(journal[at : at + 4], "big") for at in range(8, 28, 4))
    if page != PAGE_BYTES or not 28 <= sector <= 65536 or pages * page > MOST_FILE_BYTES:
        return
    with open(database, "rb+") as file:
        at = sector
        while at + page + 8 <= len(journal) and count:
            number = int.from_bytes(journal[at : at + 4], "big")
            content = journal[at + 4 : at + 4 + page]
            checked = int.from_bytes(journal[at + 4 + page : at + 8 + page], "big")
            if checked != _checksum(salt, content) or not 1 <= number <= pages:
                break
            file.seek((number - 1) * page)
            file.write(content)
            at += page + 8
            count -= 1
        file.truncate(pages * page)


def _checksum(salt: int, content: bytes) -> int:
    return (salt + sum(content[at] for at in range(len(content) - 200, 0, -200))) & 0xFFFFFFFF
