"""What a check of `tremula doctor` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that a check found; `level` is ok, note, warning or problem."""

    level: str
    about: str
    text: str
