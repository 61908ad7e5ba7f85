"""Memory that a step frees is kept for the next one.

glibc gives freed memory back to the system in small portions, and each step would have it mapped and cleared anew:
up to a third of the time of a small network's step.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

# of malloc.h
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

#: bytes that are kept at the most
_KEPT_BYTES = 256 << 20
#: larger blocks are mapped one by one, and given back; the largest that glibc takes
_MAPPED_BYTES = 32 << 20


@functools.cache
def keep_freed_memory() -> None:
    """Have the C library keep freed memory, unless the user has settings of their own (MALLOC_...)."""
    if not sys.platform.startswith("linux") or any(name.startswith("MALLOC_") for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library, or another allocator
        return
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
