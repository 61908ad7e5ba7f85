"""Eviction: removes the least recently used entries when the cache is full, and what dead writers left.

The time of last use is the file's modification time, which every hit renews. Listing a folder looks at names and
sizes only. Other processes may write and remove at the same time: what is gone is gone, and what was
renewed meanwhile stays.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from tremula.atomic_files import SUFFIX
from tremula.cache import keys

#: a draft younger than this may have a writer that has not locked it yet, in seconds
GRACE = 10.0
#: where drafts cannot be locked, one this old has no writer any more, in seconds
ABANDONED = 86400.0


@dataclass(frozen=True)
class StoredFile:
    """A file in the cache's folder, as its listing shows it."""

    path: Path
    key: str
    size: int
    used: float
    stamp: int  # modification time in nanoseconds
    ours: bool


@dataclass
class Listing:
    """The cache's folder: entries, drafts of writers, and what does not belong to the cache."""

    entries: list[StoredFile] = field(default_factory=list)
    drafts: list[Path] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Removed:
    """What an eviction removed: entries, their bytes, and drafts of dead writers."""

    entries: int = 0
    bytes: int = 0
    drafts: int = 0


def list_folder(root: Path) -> Listing:
    """What is in the folder `root`; an absent folder is empty; raises OSError if it cannot be listed."""
    found = Listing()
    try:
        scan = os.scandir(root)
    except FileNotFoundError:
        return found
    me = os.getuid() if hasattr(os, "getuid") else None
    with scan:
        for each in scan:
            key = keys.key_in(each.name)
            if key is None:
                if _is_draft(each.name):
                    found.drafts.append(root / each.name)
                else:
                    found.others.append(each.name)
                continue
            with contextlib.suppress(OSError):  # removed since it was listed
                info = each.stat(follow_symlinks=False)
                if not stat.S_ISDIR(info.st_mode):
                    ours = me is None or info.st_uid == me
                    found.entries.append(
                        StoredFile(root / each.name, key, info.st_size, info.st_mtime, info.st_mtime_ns, ours)
                    )
    return found


def _is_draft(name: str) -> bool:
    return (
        name.startswith(".") and name.endswith(SUFFIX) and keys.key_in(name[1:].rsplit(".", 2)[0]) is not None
    )


def evict(
    listing: Listing, limit_bytes: int | None, older_than: float | None = None, keep: str = ""
) -> Removed:
    """Remove our entries, least recently used first, until `limit_bytes` hold the rest; and stale drafts.

    Also what was last used more than `older_than` seconds ago. The entry `keep` stays in any case.
    """
    total = sum(file.size for file in listing.entries)
    now = time.time()
    count = freed = 0
    for file in sorted(listing.entries, key=lambda each: (each.stamp, each.key)):
        too_much = limit_bytes is not None and total > limit_bytes
        too_old = older_than is not None and now - file.used > older_than
        if file.ours and file.key != keep and (too_much or too_old) and remove(file):
            total -= file.size
            freed += file.size
            count += 1
    return Removed(count, freed, sum(remove_stale_draft(draft) for draft in listing.drafts))


def remove(file: StoredFile) -> bool:
    """Remove the file unless it was renewed since it was listed. Returns True if this call removed it."""
    try:
        if os.lstat(file.path).st_mtime_ns != file.stamp:
            return False
        os.unlink(file.path)
    except OSError:
        return False
    return True


def lock_draft(descriptor: int) -> bool | None:
    """Mark an open draft as being written: True if that worked, False if another process writes it.

    None where files cannot be locked. The system takes the mark off when the writer dies.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def remove_stale_draft(path: Path) -> bool:
    """Remove a draft whose writer is dead; True if that was done."""
    try:
        age = time.time() - os.lstat(path).st_mtime
        if age <= GRACE:
            return False
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            free = lock_draft(descriptor)
        finally:
            os.close(descriptor)
        if free is False or (free is None and age <= ABANDONED):
            return False
        os.unlink(path)
    except OSError:
        return False
    return True
