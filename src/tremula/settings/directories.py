"""Folders of the user that Tremula writes to."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from tremula.settings.environment import env


def state_directory() -> Path:
    """The folder for state that outlives a program: TREMULA_STATE_DIR, or the platform's usual place."""
    named = env.get("TREMULA_STATE_DIR")
    return Path(named or platformdirs.user_state_dir("tremula", appauthor=False))
