"""The user's line, as text for messages. A program in another language says its own."""

from __future__ import annotations

import os
import sys
from types import FrameType

_SHIMS = ("poplar", "poputil", "popops", "poplin", "popnn", "poprand", "popsparse", "gcl")
_OURS = ("tremula.", *(f"{name}." for name in _SHIMS))


class _Given:
    """What a program in another language said last."""

    line = ""


def set_line(line: str) -> None:
    """Use this line from now on; an empty one goes back to the Python stack."""
    _Given.line = line


def user_line() -> str:
    """`file.py:12`, the innermost line on the stack that is the user's; empty where there is none."""
    if _Given.line:
        return _Given.line
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS) and module not in _SHIMS:
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
