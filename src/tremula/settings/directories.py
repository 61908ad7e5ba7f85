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
    """The folder for state that is kept after a program ends."""

    path: Path
    usual: Path  #: where it belongs
    problem: str = ""  #: why it is not kept there

    @property
    def warning(self) -> str:
        """The warning if the usual folder is not used."""
        return (
            f"The state folder {self.usual} cannot be used ({self.problem}), so {self.path} is used instead. Virtual "
            "IPUs are shared only with programs that use the same folder, and records of runs are lost when it is "
            "cleared. Set TREMULA_STATE_DIR to a writable folder."
        )


def state_directory() -> Path:
    """The folder for persistent state: TREMULA_STATE_DIR, or the usual folder of the platform."""
    return state_folder().path


def state_folder() -> StateFolder:
    """The state folder and the usual one. If the usual folder cannot be used, the state is in a temporary folder.

    A folder that the user named is always used; `state_subfolder` checks it.
    """
    named = env.get("TREMULA_STATE_DIR")
    if named:
        return StateFolder(Path(named), Path(named))
    return _usable(Path(platformdirs.user_state_dir("tremula", appauthor=False)))


def state_subfolder(*names: str) -> Path:
    """The folder `names` in the state folder (or the state folder itself). Created for this user only if it is missing.

    Raises:
        Untrusted: another user could have written to the folder. OSError: it cannot be created.
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
    """A folder for all processes of this user that other users can neither read nor replace, or None."""
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
