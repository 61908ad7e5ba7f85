"""How much memory the host has left."""

from __future__ import annotations

import os


def free_memory() -> int | None:
    """Bytes; None on a system that does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
