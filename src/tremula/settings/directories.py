"""Folders of the user that Tremula writes to."""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tremula.atomic_files import write_problem
from tremula.settings.environment import env


@dataclass(frozen=True)
class StateFolder:
    """Where state that outlives a program is kept."""

    path: Path
    usual: Path  #: where it belongs
    problem: str = ""  #: why it is not kept there

    @property
    def warning(self) -> str:
        """What to tell the user if it is not kept where it belongs."""
        return (
            f"The state folder {self.usual} cannot be written ({self.problem}), so {self.path} is used: virtual IPUs "
            "are shared with this user's programs that use it too, and records of runs last until it is cleared. Name "
            "a folder that can be written with TREMULA_STATE_DIR."
        )


def state_directory() -> Path:
    """The folder for state that outlives a program: TREMULA_STATE_DIR, or the platform's usual place."""
    return state_folder().path


def state_folder() -> StateFolder:
    """The same with where it belongs: where the usual place cannot be written, the state is in a temporary folder.

    A folder that the user named is taken as it is.
    """
    named = env.get("TREMULA_STATE_DIR")
    if named:
        return StateFolder(Path(named), Path(named))
    return _usable(Path(platformdirs.user_state_dir("tremula", appauthor=False)))


@functools.cache
def _usable(usual: Path) -> StateFolder:
    problem = write_problem(usual)
    instead = None if problem is None else _temporary_folder()
    if problem is None or instead is None:
        return StateFolder(usual, usual)
    return StateFolder(instead, usual, problem)


def _temporary_folder() -> Path | None:
    """A folder for all processes of this user, which no other user can look into or replace; None if there is none."""
    if not hasattr(os, "getuid"):
        return None
    try:
        path = Path(tempfile.gettempdir()) / f"tremula-{os.getuid()}"
        path.mkdir(mode=0o700, exist_ok=True)
        above, own = path.parent.stat(), path.lstat()
    except OSError:
        return None
    others = stat.S_IWGRP | stat.S_IWOTH
    safe = bool(above.st_mode & stat.S_ISVTX) or not above.st_mode & others
    mine = stat.S_ISDIR(own.st_mode) and own.st_uid == os.getuid() and not own.st_mode & 0o077
    return path if safe and mine and write_problem(path) is None else None
