"""The result of a check of `tremula doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One result of a check; `level` is ok, note, warning or problem."""

    level: str
    about: str
    text: str
