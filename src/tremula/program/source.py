"""The user's line: where in their program something happened."""

from __future__ import annotations

import sys
from types import FrameType

from tremula.program.op import SourceLine

#: packages whose frames are never "the user's line"
_NOT_USER = ("torch.", "tremula.", "poptorch.", "contextlib", "functools")
_NOT_USER_EITHER = frozenset({"torch", "tremula", "poptorch"})


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs code of the user's: neither torch's nor ours, and from a file."""
    module = frame.f_globals.get("__name__", "")
    if module in _NOT_USER_EITHER or module.startswith(_NOT_USER):
        return False
    return not frame.f_code.co_filename.startswith("<")


def user_line(excludes: tuple[str, ...] = ()) -> SourceLine | None:
    """The innermost line on the stack that is the user's, outside files whose path has one of `excludes` in it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_users(frame) and not any(part in code.co_filename for part in excludes):
            return SourceLine(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None
