"""Files that no other user planted: opened without following a link, and checked before they are used."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tremula.private_files.folders import OWN_FOLDER, distrust_of
from tremula.private_files.owners import GROUP, OTHERS, Untrusted, owner, owner_and_mode

#: how often a file may appear and vanish while it is opened
_TRIES = 10


def open_to_read(path: Path, *, of_anybody: bool = False) -> int:
    """A descriptor of the file, which is not a link, a pipe or another thing that only looks like one.

    Args:
        path: the file.
        of_anybody: whether it may belong to another user, who can write to it.

    Raises:
        OSError: it cannot be opened. Untrusted: it is not a regular file, or another user can change it.
    """
    descriptor = _open_regular(path, os.O_RDONLY)
    try:
        info = os.fstat(descriptor)
        if hasattr(os, "getuid") and not of_anybody:
            _require_owner(info)
            if info.st_mode & (GROUP | OTHERS):
                raise Untrusted(f"writable by other users ({owner_and_mode(info)})")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: Path, most_bytes: int, *, of_anybody: bool = False) -> bytes:
    """The first bytes of the file; see `open_to_read`. The text of Untrusted names the file."""
    try:
        descriptor = open_to_read(path, of_anybody=of_anybody)
    except Untrusted as problem:
        raise Untrusted(f"{path} is {problem}; remove it") from None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes)


def open_to_update(path: Path) -> int:
    """A descriptor to read and write the file, which is made for this user alone if it is missing.

    The folder is opened first and checked; the file is opened in that very folder.

    Raises:
        OSError: it cannot be opened. Untrusted: another user could have planted the file, or its folder.
    """
    folder = _open_folder(path.parent)
    try:
        for _ in range(_TRIES):
            try:
                return _checked(path, _open_regular(path, os.O_RDWR, folder))
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    return _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, folder)
        raise Untrusted(f"another process keeps creating and removing {path}; {OWN_FOLDER}")
    except Untrusted as problem:
        text = str(problem)
        raise Untrusted(text if text.startswith(str(path)) else f"{path} is {text}; remove it") from None
    finally:
        if folder is not None:
            os.close(folder)


@contextlib.contextmanager
def locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock file `path`, which is made if it is missing.

    Raises:
        filelock.Timeout: another process held it for so many seconds. OSError, Untrusted: see `open_to_update`.
    """
    from filelock import FileLock  # imported here so that tools that only read start faster

    os.close(open_to_update(path))
    with FileLock(path, timeout=timeout, mode=0o600):
        yield


def _open_folder(path: Path) -> int | None:
    """A descriptor of the checked folder; None where files cannot be opened in a folder that is open."""
    if os.open not in os.supports_dir_fd or not hasattr(os, "getuid"):
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    distrust = distrust_of(path, os.fstat(descriptor), sticky_is_fine=True)
    if distrust is not None:
        os.close(descriptor)
        raise Untrusted(f"{path} is not used: {distrust}")
    return descriptor


def _checked(path: Path, descriptor: int) -> int:
    """The descriptor of a file that is written; raises Untrusted and closes it if it belongs to another user."""
    try:
        info = os.fstat(descriptor)
        if hasattr(os, "getuid"):
            _require_owner(info)
            if info.st_nlink > 1:
                raise Untrusted(f"a file with {info.st_nlink} names ({owner_and_mode(info)})")
            if info.st_uid == os.getuid() and info.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open_regular(path: Path, flags: int, folder: int | None = None) -> int:
    """A descriptor of a file that is there; devices and pipes are not opened, since opening one can have effects."""
    _require_regular(_lstat_in(path, folder))
    try:
        descriptor = _open(path, flags, folder)
    except OSError:
        if stat.S_ISLNK(_lstat_in(path, folder).st_mode):
            raise Untrusted("a link, not a file") from None
        raise
    try:
        _require_regular(os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(info: os.stat_result) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise Untrusted(
            f"a link, not a file ({owner(info)})" if hasattr(os, "getuid") else "a link, not a file"
        )
    if not stat.S_ISREG(info.st_mode):
        raise Untrusted("not a regular file")


def _require_owner(info: os.stat_result) -> None:
    if info.st_uid not in (os.getuid(), 0):
        raise Untrusted(f"owned by another user ({owner_and_mode(info)})")


def _open(path: Path, flags: int, folder: int | None) -> int:
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    return os.open(path if folder is None else path.name, flags, 0o600, dir_fd=folder)


def _lstat_in(path: Path, folder: int | None) -> os.stat_result:
    return os.lstat(path) if folder is None else os.lstat(path.name, dir_fd=folder)
