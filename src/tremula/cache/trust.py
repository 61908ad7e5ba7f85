"""Which folders the executable cache uses: the user's choice if code can be trusted to come from it."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from tremula import log
from tremula.atomic_files import write_problem
from tremula.private_files import code_distrust
from tremula.settings import env
from tremula.settings.directories import state_directory


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
    distrust = code_distrust(wanted)
    if distrust is None:
        problem = write_problem(wanted)
        if problem is not None:  # what is in it already can still be read
            log.warn_once(
                f"cache root {wanted}",
                f"The cache folder {wanted} cannot be written ({problem}), so newly compiled code is not kept. "
                "Results are the same. Make it writable, or choose another folder.",
            )
        return wanted, None
    instead = default_root()
    log.warn_once(
        f"cache root {wanted}",
        f"The cache folder {wanted} is not used: {distrust.reason}. Compiled code is only loaded from folders "
        f"that no other user can change. The cache is kept in {instead} instead. To use yours, {distrust.cure}.",
    )
    return instead, distrust.reason
