"""The C++ libraries that compiled operators need: those that `tremula cpp enable` has made."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from typing import Any

from tremula.errors import Error

#: the libraries keep one connection for all threads
LOCK = threading.RLock()


def loaded(name: str) -> ctypes.CDLL | None:
    """A library that this process has loaded already, such as by a library of the user's that needs it."""
    with contextlib.suppress(OSError):
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    return None


def needed(name: str) -> ctypes.CDLL:
    """A library of ours.

    Raises:
        Error: it is not found; the text says how to make it.
    """
    found = loaded(name)
    if found is not None:
        return found
    try:
        return ctypes.CDLL(name, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    except OSError as problem:
        raise Error(
            f"Compiled operators need {name}, which cannot be loaded: {problem}. Run `tremula cpp enable` and source "
            "the file that it names before you start the program."
        ) from None


def declare(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    """A function of a library with its types."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function
