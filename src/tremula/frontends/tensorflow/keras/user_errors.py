"""Errors about what a program does: they name its line."""

from __future__ import annotations

from tremula.frontends.tensorflow.user_lines import current_line


def at_line(message: str) -> str:
    """The message, followed by the innermost line of the program on the stack if there is one."""
    line = current_line()
    return message if line is None else f"{message}\n  at {line.file}:{line.line} ({line.function})"
