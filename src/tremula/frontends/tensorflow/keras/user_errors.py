"""Errors about what a program does: they name its line."""

from __future__ import annotations

import os

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import keras
from tremula.program.source import user_line

#: folders of stock packages, whose lines are not the user's
_STOCK = tuple(os.path.dirname(module.__file__) + os.sep for module in (tf, keras))


def at_line(message: str) -> str:
    """The message, followed by the innermost line of the program on the stack if there is one."""
    line = user_line(_STOCK)
    return message if line is None else f"{message}\n  at {line.file}:{line.line} ({line.function})"
