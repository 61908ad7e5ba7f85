"""Folders that no other user can write to: checked, and made for this user alone."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from tremula.private_files.owners import (
    GROUP,
    OTHERS,
    Untrusted,
    group_is_private,
    group_name,
    owner,
    owner_and_mode,
)

#: the remedy if a folder belongs to another user
OWN_FOLDER = "choose a folder that you own"


@dataclass(frozen=True)
class Distrust:
    """Why a folder is not used, and the command (or advice) that would cure it."""

    reason: str
    cure: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.cure}"


def code_distrust(path: str | Path) -> Distrust | None:
    """Why code in the folder `path` cannot be trusted, or None: the folder and all above it are looked at.

    What does not exist yet is not held against it.
    """
    if not hasattr(os, "getuid"):
        return None
    leaf = Path(os.path.realpath(path))
    for place in (leaf, *leaf.parents):
        found = _distrust(place, sticky_is_fine=place != leaf)
        if found is not None:
            return found
    return None


def folder_distrust(path: str | Path) -> Distrust | None:
    """Why files in the folder `path` could belong to another user, or None; parent folders are not checked.

    A sticky folder is fine. Links that lead to the folder have to be the user's or root's. What does not exist yet is
    not held against it.
    """
    if not hasattr(os, "getuid"):
        return None
    absolute = Path(os.path.abspath(path))
    for place in (absolute, *absolute.parents):
        with contextlib.suppress(OSError):
            info = os.lstat(place)
            if stat.S_ISLNK(info.st_mode) and info.st_uid not in (os.getuid(), 0):
                return Distrust(f"{place} is a link of another user ({owner(info)})", OWN_FOLDER)
    return _distrust(Path(os.path.realpath(absolute)), sticky_is_fine=True)


def _distrust(place: Path, sticky_is_fine: bool) -> Distrust | None:
    try:
        info = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        return Distrust(f"{place} cannot be examined ({problem.strerror})", "choose another folder")
    return distrust_of(place, info, sticky_is_fine)


def distrust_of(place: Path, info: os.stat_result, sticky_is_fine: bool) -> Distrust | None:
    """Why the folder `place` is not trusted, of which `info` is known."""
    if stat.S_ISLNK(info.st_mode):
        return Distrust(f"{place} is a link, not a folder ({owner(info)})", "remove it")
    if not stat.S_ISDIR(info.st_mode):
        return Distrust(f"{place} is not a folder", "choose another folder")
    if info.st_uid not in (os.getuid(), 0):
        return Distrust(f"{place} belongs to another user ({owner_and_mode(info)})", OWN_FOLDER)
    if not info.st_mode & (OTHERS | GROUP) or (sticky_is_fine and info.st_mode & stat.S_ISVTX):
        return None
    quoted = shlex.quote(str(place))
    if info.st_mode & OTHERS:
        return Distrust(
            f"everybody can write to {place} ({owner_and_mode(info)})", f"run: chmod go-w {quoted}"
        )
    if group_is_private(place, info):
        return None
    return Distrust(
        f"the group {group_name(info.st_gid)} can write to {place} ({owner_and_mode(info)})",
        f"run: chmod g-w {quoted}",
    )


def make_code_directory(path: Path) -> None:
    """Make the folder, and those above it that are missing, for this user alone.

    Raises:
        Untrusted: it is, or would be, in a place that others can change. OSError: it cannot be made.
    """
    require_code_trusted(path)
    missing = [place for place in (path, *path.parents) if not os.path.lexists(place)]
    for place in reversed(missing):
        _make_one(place)
    if missing:  # another process may have been faster
        require_code_trusted(path)


def require_code_trusted(path: Path) -> None:
    """Raise Untrusted unless code in the folder `path` can be trusted."""
    distrust = code_distrust(path)
    if distrust is not None:
        raise Untrusted(str(distrust))


def make_directory(root: Path, *below: str, permissions: int = 0o700) -> Path:
    """The folder `below` in `root`, made where it is missing: for this user alone, unless `permissions` are given.

    `root` may be reached through links and may be sticky. The folders below it are Tremula's: they are not links, and
    where others can write to one of the user's, that ends.

    Raises:
        Untrusted: others could have planted what is there. OSError: it cannot be made.
    """
    missing = [place for place in (root, *root.parents) if not os.path.lexists(place)]
    for place in reversed(missing):
        _make_one(place, permissions)
    distrust = folder_distrust(root)
    if distrust is not None:
        raise Untrusted(str(distrust))
    path = root
    for name in below:
        path = path / name
        info = _lstat(path)
        if info is None:
            _make_one(path, permissions)
        elif hasattr(os, "getuid") and info.st_uid == os.getuid() and info.st_mode & (OTHERS | GROUP):
            tighten(path)
        found = _distrust(path, sticky_is_fine=False) if hasattr(os, "getuid") else None
        if found is not None:
            raise Untrusted(str(found))
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return path


def tighten(path: Path) -> None:
    """Remove access for other users from a folder of this user. Other folders and links are not changed."""
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
    if not hasattr(os, "getuid") or not hasattr(os, "fchmod"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, flags)
        try:
            info = os.fstat(descriptor)
            if info.st_uid == os.getuid() and info.st_mode & 0o077:
                os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)


def _make_one(place: Path, permissions: int = 0o700) -> None:
    with contextlib.suppress(
        FileExistsError
    ):  # another process may have been faster; it is checked after this
        os.mkdir(place, permissions)


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
