"""Whose a file or folder is, and who else may write to it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

#: permission bits with which others can write
OTHERS = stat.S_IWOTH
GROUP = stat.S_IWGRP


class Untrusted(Exception):
    """A folder or file that another user could have written. The text gives the reason and the remedy."""


def owner_and_mode(info: os.stat_result) -> str:
    """Who owns it and what others may do: `owner ada (uid 1000), mode 0775`."""
    return f"{owner(info)}, mode {stat.S_IMODE(info.st_mode):04o}"


def owner(info: os.stat_result) -> str:
    """Who owns it."""
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        return f"owner {pwd.getpwuid(info.st_uid).pw_name} (uid {info.st_uid})"
    return f"owner uid {info.st_uid}"


def group_is_private(place: Path, info: os.stat_result) -> bool:
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


def group_name(gid: int) -> str:
    """How the group is called."""
    with contextlib.suppress(ImportError, KeyError):
        import grp

        return grp.getgrgid(gid).gr_name
    return str(gid)
