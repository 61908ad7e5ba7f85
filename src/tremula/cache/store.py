"""The executable cache: a folder of signed entries, one file each, shared by all processes of one user.

A hit opens exactly one file, reads it once, and hands out those very bytes once their signature was found good.
Whatever is wrong with a file or a folder makes a miss and one warning, never an error: a cache that does not
work costs time, not results.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tremula import log, private_files
from tremula.atomic_files import atomic_open_binary
from tremula.cache import entry_file, eviction, keys, locks, secret, trust
from tremula.cache.entry_file import BadEntry, Entry
from tremula.cache.eviction import Removed
from tremula.cache.locks import Waiting
from tremula.cache.secret import BadKey
from tremula.private_files import Untrusted
from tremula.settings import env
from tremula.trace import channels, points

HIT = "hit"
MISS = "not in the cache"

_COSTS_TIME = "Models are compiled in each process; results are the same."


@dataclass(frozen=True)
class Lookup:
    """The answer to `Store.get`: the entry, or None and the reason."""

    entry: Entry | None
    reason: str


@dataclass(frozen=True)
class EntryInfo:
    """An entry as `Store.entries` lists it. What comes from the file's header has not been verified."""

    key: str
    path: Path
    size: int
    created: float  #: when it was made, in seconds since 1970; 0 if unknown
    last_used: float  #: when it was written or last hit
    metadata: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, int] = field(default_factory=dict)  #: names and lengths
    problem: str | None = None  #: why the header cannot be read, or None


def default_limit() -> int:
    """Size limit of a cache in bytes: TREMULA_CACHE_LIMIT."""
    limit: int = env.get("TREMULA_CACHE_LIMIT")
    return limit


class Store:
    """A cache folder.

    Args:
        root: the folder; made when the first entry is put. See `trust.usable_root` for one that a user named.
        limit_bytes: entries are evicted when all together take more; by default, TREMULA_CACHE_LIMIT.
        private_dir: where the user's key and the locks are; by default the user's state folder.
    """

    def __init__(
        self, root: str | Path, *, limit_bytes: int | None = None, private_dir: Path | None = None
    ) -> None:
        self.root = Path(os.path.abspath(root))
        self.limit_bytes: int = default_limit() if limit_bytes is None else limit_bytes
        self._private = private_dir or trust.private_directory()

    def get(self, key: str) -> Lookup:
        """Look the entry up; a hit makes it the most recently used one."""
        if not channels.poplar.on:
            return self._get(key)
        points.begin(channels.poplar, "cache lookup")
        found = self._get(key)
        points.end(channels.poplar, "cache lookup", {"result": found.reason, "key": key})
        return found

    def _get(self, key: str) -> Lookup:
        path = self._path(key)
        if not self._trusted():
            return Lookup(None, "the cache folder is not trusted")
        try:
            entry = self._read(key, path)
        except FileNotFoundError:
            return Lookup(None, MISS)
        except OSError as problem:
            return self._ignored(path, f"cannot be read ({problem.strerror or problem})")
        except BadKey as problem:
            self._no_key(problem)
            return Lookup(None, f"no usable key: {problem}")
        except (BadEntry, Untrusted) as problem:
            return self._ignored(path, str(problem))
        with contextlib.suppress(OSError):
            os.utime(path)
        return Lookup(entry, HIT)

    def put(self, key: str, metadata: Mapping[str, Any], blobs: Mapping[str, bytes]) -> bool:
        """Keep an entry, in place of one that is there; True if it was kept.

        It becomes visible as a whole or not at all. A full disk or a folder that cannot be written is a warning, once.
        Raises ValueError or TypeError if the metadata is not JSON data, or more than an entry can hold.
        """
        with points.Span(channels.poplar, "cache write", {"key": key}):
            return self._put(key, metadata, blobs)

    def _put(self, key: str, metadata: Mapping[str, Any], blobs: Mapping[str, bytes]) -> bool:
        path = self._path(key)
        if not self._trusted():
            return False
        try:
            signing = secret.load(self._private, create=True)
            if signing is None:  # another process removed it just now
                raise BadKey(f"the key in {self._private} was removed")
            pieces = list(entry_file.encode(key, metadata, blobs, signing, float(int(time.time()))))
            size = sum(map(len, pieces))
            if size > min(self.limit_bytes, entry_file.MAX_FILE):
                self._warn_not_stored(f"size {key}", f"an entry of {size:,} bytes exceeds the size limit")
                return False
            private_files.make_code_directory(self.root)
            self._write(path, pieces)
        except BadKey as problem:
            self._no_key(problem)
            return False
        except Untrusted as problem:
            self._warn_not_stored(f"trust {problem}", str(problem))
            return False
        except OSError as problem:
            self._warn_not_stored(
                f"write {problem.errno}", f"{self.root} cannot be written ({problem.strerror or problem})"
            )
            return False
        self._evict(keep=key)
        return True

    @contextlib.contextmanager
    def lock(
        self, key: str, *, on_wait: Callable[[Waiting], None] | None = None, timeout: float | None = None
    ) -> Iterator[bool]:
        """Hold the lock of `key` across all processes of this user, for one of them to make the entry.

        Look the entry up again when you have it: another process may have made it meanwhile. Gives False if no
        lock could be had (no place for it, or the time is up): go on without. See `locks.held`.
        """
        name = hashlib.sha256(f"{os.path.realpath(self.root)}\0{keys.check_key(key)}".encode()).hexdigest()
        with locks.held(self._private / "locks" / f"{name[:32]}.lock", on_wait, timeout) as held:
            yield held

    def entries(self) -> Iterator[EntryInfo]:
        """All entries, the most recently used first; headers are read as you go.

        Raises OSError if the folder cannot be listed.
        """
        found = eviction.list_folder(self.root).entries
        for file in sorted(found, key=lambda each: (-each.stamp, each.key)):
            try:
                with os.fdopen(private_files.open_to_read(file.path), "rb") as opened:
                    header = entry_file.read_header(opened)
                if header.file_size != file.size:
                    raise BadEntry("corrupt: its size differs from the size in its header")
            except FileNotFoundError:
                continue
            except (OSError, BadEntry, Untrusted) as problem:
                yield EntryInfo(file.key, file.path, file.size, 0.0, file.used, problem=str(problem))
                continue
            blobs = {name: length for name, length, _ in header.blobs}
            yield EntryInfo(file.key, file.path, file.size, header.created, file.used, header.metadata, blobs)

    def verify(self) -> list[tuple[Path, str | None]]:
        """Read every entry like a cache hit. Yields pairs of file and problem (None if it is sound).

        Raises OSError if the folder cannot be listed.
        """
        files = sorted(eviction.list_folder(self.root).entries, key=lambda each: each.key)
        checked = ((file.path, self.check(file.key)) for file in files)
        return [(path, problem) for path, problem in checked if problem != MISS]

    def check(self, key: str) -> str | None:
        """What is wrong with the entry, or None for a sound one; does not count as use."""
        try:
            self._read(key, self._path(key))
        except FileNotFoundError:
            return MISS
        except OSError as problem:
            return f"cannot be read ({problem.strerror or problem})"
        except (BadEntry, Untrusted) as problem:
            return str(problem)
        return None

    def distrust(self) -> str | None:
        """Why this folder is not used, or None."""
        found = private_files.code_distrust(self.root)
        return None if found is None else str(found)

    def remove(self, key: str) -> bool:
        """Remove one entry; False if there is none or it cannot be removed."""
        try:
            os.unlink(self._path(key))
        except OSError:
            return False
        return True

    def prune(self, limit_bytes: int | None = None, older_than: float | None = None) -> Removed:
        """Remove what is more than `limit_bytes` (default: the store's limit), or unused for `older_than` seconds.

        Raises OSError if the folder cannot be listed.
        """
        locks.sweep(self._private / "locks")
        limit = self.limit_bytes if limit_bytes is None else limit_bytes
        return eviction.evict(eviction.list_folder(self.root), limit, older_than)

    def clear(self) -> Removed:
        """Remove all entries of this user, and drafts of dead writers; other files stay.

        Raises OSError if the folder cannot be listed.
        """
        return self.prune(limit_bytes=-1)

    def _path(self, key: str) -> Path:
        return self.root / keys.file_name(key)

    def _trusted(self) -> bool:
        distrust = private_files.code_distrust(self.root)
        if distrust is None:
            return True
        log.warn_once(
            f"cache root {self.root}",
            f"The executable cache in {self.root} is not used: {distrust}. {_COSTS_TIME}",
        )
        return False

    def _read(self, key: str, path: Path) -> Entry:
        """The verified entry; the file is opened once, and these bytes are all that is ever looked at."""
        with os.fdopen(private_files.open_to_read(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > entry_file.MAX_FILE:
                raise BadEntry(f"too large ({size:,} bytes)")
            data = file.read(size + 1)
        return entry_file.decode(key, data, secret.load(self._private))

    def _write(self, path: Path, pieces: list[bytes]) -> None:
        with atomic_open_binary(path, permissions=0o600, parents=False) as file:
            eviction.lock_draft(file.fileno())
            file.writelines(pieces)

    def _evict(self, keep: str) -> None:
        try:
            listing = eviction.list_folder(self.root)
        except OSError:
            return
        if listing.others:
            log.info_once(
                f"cache others {self.root}",
                f"{self.root} also contains {len(listing.others)} files that are not cache entries "
                f"({listing.others[0]!a:.100}, ...). They are not changed.",
            )
        eviction.evict(listing, self.limit_bytes, keep=keep)

    def _ignored(self, path: Path, reason: str) -> Lookup:
        log.warn_once(
            f"cache file {path}: {reason}",
            f"The cache file {path} is ignored: {reason}. The model is compiled again and the file replaced.",
        )
        return Lookup(None, reason)

    def _no_key(self, problem: BadKey) -> None:
        log.warn_once(
            f"cache key {self._private}",
            f"The executable cache is off, because its entries cannot be signed: {problem}. {_COSTS_TIME}",
        )

    def _warn_not_stored(self, what: str, reason: str) -> None:
        log.warn_once(f"cache put {self.root} {what}", f"Compiled code is not kept: {reason}. {_COSTS_TIME}")
