"""Rewrites of graphs. They change no number; ops are as they were created."""

from __future__ import annotations

from popart import Patterns, PatternsLevel
from tremula import log


def no_effect() -> None:
    """Say once that rewrites have none."""
    log.info_once("popxl patterns", "PopXL graph patterns have no effect: ops run as they were created.")


__all__ = ["Patterns", "PatternsLevel"]
