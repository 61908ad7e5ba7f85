"""The user's line: where in their program something happened."""

from __future__ import annotations

import sys
from types import FrameType

from tremula.program.op import SourceLine
from tremula.settings.shims import MAIN_SHIM

#: packages whose frames are never "the user's line"
_OTHER_PACKAGES = frozenset({"torch", "tremula", MAIN_SHIM})
_OTHER_MODULES = (*(f"{name}." for name in sorted(_OTHER_PACKAGES)), "contextlib", "functools")


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs code of the user's: neither torch's nor ours, and from a file."""
    module = frame.f_globals.get("__name__", "")
    if module in _OTHER_PACKAGES or module.startswith(_OTHER_MODULES):
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
