"""Where compiled code may come from: folders and files that only this user (or root) can change.

A folder is trusted when it and all folders above it belong to the user or to root and no other user can write to
them; above it, a sticky folder such as /tmp will do, since others cannot replace what is ours in it.
Systems without numeric owners (Windows) have no such checks here: there the signature of each entry and the
place of the key in the user's profile have to do.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tremula import log
from tremula.atomic_files import write_problem
from tremula.settings import env
from tremula.settings.directories import state_directory

_OTHERS = stat.S_IWOTH
_GROUP = stat.S_IWGRP


class Untrusted(Exception):
    """Something that code cannot be trusted to come from; the text says what and what to do about it."""


@dataclass(frozen=True)
class Distrust:
    """Why a folder is not used, and the command (or advice) that would cure it."""

    reason: str
    cure: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.cure}"


def default_root() -> Path:
    """The folder of the cache when the user names none: TREMULA_CACHE_DIR, or one of the user's own."""
    chosen = env.get("TREMULA_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(chosen))
    return Path(platformdirs.user_cache_dir("tremula", appauthor=False)) / "executables"


def private_directory() -> Path:
    """The folder of the user's key and of the locks."""
    return Path(os.path.abspath(state_directory())) / "cache"


def usable_root(path: str | Path) -> tuple[Path, str | None]:
    """The folder to keep the cache in when the user asks for `path`: that one if it can be trusted.

    Otherwise the default folder and the reason, which one warning tells the user.
    """
    wanted = Path(os.path.abspath(path))
    distrust = directory_distrust(wanted)
    if distrust is None:
        problem = write_problem(wanted)
        if problem is not None:  # what is in it already can still be read
            log.warn_once(
                f"cache root {wanted}",
                f"The cache folder {wanted} cannot be written ({problem}): what is compiled from now on is not kept. "
                "Results are the same. Make it writable, or choose another folder.",
            )
        return wanted, None
    instead = default_root()
    log.warn_once(
        f"cache root {wanted}",
        f"The cache folder {wanted} is not used: {distrust.reason}. Compiled code is only taken from folders "
        f"that nobody else can change. The cache is kept in {instead}. To use yours, {distrust.cure}.",
    )
    return instead, distrust.reason


def directory_distrust(path: str | Path) -> Distrust | None:
    """Why code in the folder `path` cannot be trusted, or None. What does not exist yet is not held against it."""
    if not hasattr(os, "getuid"):
        return None
    leaf = Path(os.path.realpath(path))
    for place in (leaf, *leaf.parents):
        try:
            info = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            return Distrust(f"{place} cannot be examined ({problem.strerror})", "choose another folder")
        distrust = _distrust_of(
            place, info, shared_is_fine=place != leaf and bool(info.st_mode & stat.S_ISVTX)
        )
        if distrust is not None:
            return distrust
    return None


def _distrust_of(place: Path, info: os.stat_result, shared_is_fine: bool) -> Distrust | None:
    if not stat.S_ISDIR(info.st_mode):
        return Distrust(f"{place} is not a folder", "choose another folder")
    if info.st_uid not in (os.getuid(), 0):
        return Distrust(f"{place} belongs to another user (uid {info.st_uid})", "choose a folder of your own")
    if shared_is_fine or not info.st_mode & (_OTHERS | _GROUP):
        return None
    quoted = shlex.quote(str(place))
    if info.st_mode & _OTHERS:
        return Distrust(f"everybody can write to {place}", f"run: chmod go-w {quoted}")
    if _group_is_private(place, info):
        return None
    return Distrust(f"the group {_group_name(info.st_gid)} can write to {place}", f"run: chmod g-w {quoted}")


def _group_is_private(place: Path, info: os.stat_result) -> bool:
    """Whether the folder's group is the user's own, as on systems that make one for each user.

    Such systems leave folders writable by the group, which has no other member.
    """
    with contextlib.suppress(ImportError, KeyError):
        import grp
        import pwd

        user = pwd.getpwuid(os.getuid())
        group = grp.getgrgid(info.st_gid)
        if (
            group.gr_gid == user.pw_gid
            and group.gr_name == user.pw_name
            and not set(group.gr_mem) - {user.pw_name}
        ):
            return not _has_access_list(place)
    return False


def _has_access_list(place: Path) -> bool:
    """Whether the group's bits stand for a list that may name others."""
    if not hasattr(os, "listxattr"):
        return False
    try:
        return "system.posix_acl_access" in os.listxattr(place)
    except OSError:
        return False


def _group_name(gid: int) -> str:
    with contextlib.suppress(ImportError, KeyError):
        import grp

        return grp.getgrgid(gid).gr_name
    return str(gid)


def make_directory(path: Path) -> None:
    """Make the folder, and those above it that are missing, for this user alone.

    Raises:
        Untrusted: it is, or would be, in a place that others can change. OSError: it cannot be made.
    """
    require_trusted(path)
    missing = [place for place in (path, *path.parents) if not os.path.lexists(place)]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(place, 0o700)
    if missing:  # another process may have been faster
        require_trusted(path)


def require_trusted(path: Path) -> None:
    """Raise Untrusted unless code in the folder `path` can be trusted."""
    distrust = directory_distrust(path)
    if distrust is not None:
        raise Untrusted(str(distrust))


def open_to_read(path: Path) -> int:
    """A descriptor of the file, which is not a link, a pipe or another thing that only looks like one.

    Raises:
        OSError: it cannot be opened. Untrusted: it is no regular file, or another user can change it.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):
        raise Untrusted("a link, not a file")
    try:
        descriptor = os.open(path, flags)
    except OSError:
        if os.path.islink(path):
            raise Untrusted("a link, not a file") from None
        raise
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise Untrusted("not a regular file")
        if hasattr(os, "getuid"):
            if info.st_uid not in (os.getuid(), 0):
                raise Untrusted(f"owned by another user (uid {info.st_uid})")
            if info.st_mode & (_GROUP | _OTHERS):
                raise Untrusted("writable by other users")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
