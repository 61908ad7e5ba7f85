"""Folders of the user that Tremula writes to."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tremula import private_files
from tremula.atomic_files import write_problem
from tremula.private_files import Untrusted
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
            f"The state folder {self.usual} cannot be used ({self.problem}), so {self.path} is used: virtual IPUs "
            "are shared with this user's programs that use it too, and records of runs last until it is cleared. Name "
            "a folder that can be written with TREMULA_STATE_DIR."
        )


def state_directory() -> Path:
    """The folder for state that outlives a program: TREMULA_STATE_DIR, or the platform's usual place."""
    return state_folder().path


def state_folder() -> StateFolder:
    """The same with where it belongs: where the usual place cannot be used, the state is in a temporary folder.

    A folder that the user named stays; `state_subfolder` checks it.
    """
    named = env.get("TREMULA_STATE_DIR")
    if named:
        return StateFolder(Path(named), Path(named))
    return _usable(Path(platformdirs.user_state_dir("tremula", appauthor=False)))


def state_subfolder(*names: str) -> Path:
    """The folder `names` in the state folder (or that one itself), made for this user alone where it is missing.

    Raises:
        Untrusted: another user could have planted what is there. OSError: it cannot be made.
    """
    return private_files.make_directory(state_directory(), *names)


@functools.cache
def _usable(usual: Path) -> StateFolder:
    problem = _problem(usual)
    instead = None if problem is None else _temporary_folder()
    if problem is None or instead is None:
        return StateFolder(usual, usual)
    return StateFolder(instead, usual, problem)


def _problem(usual: Path) -> str | None:
    private_files.tighten(usual)  # it is Tremula's own: nobody else has to look into it
    distrust = private_files.folder_distrust(usual)
    return write_problem(usual) if distrust is None else str(distrust)


def _temporary_folder() -> Path | None:
    """A folder for all processes of this user, which no other user can look into or replace; None if there is none."""
    if not hasattr(os, "getuid"):
        return None
    try:
        path = private_files.make_directory(Path(tempfile.gettempdir())) / f"tremula-{os.getuid()}"
        if path.is_dir() and path.lstat().st_mode & 0o077:  # others could have put something there
            return None
        private_files.make_directory(path.parent, path.name)
    except (OSError, Untrusted):
        return None
    return path if write_problem(path) is None else None
