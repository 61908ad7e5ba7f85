"""Lines of the user's program, as TensorFlow and Keras are on the stack."""

from __future__ import annotations

import functools
import os
from typing import Any

import tensorflow.compat.v2 as tf

import tremula
from tremula.frontends.tensorflow.stock_keras import keras
from tremula.program.op import SourceLine
from tremula.program.source import user_line

#: packages of this project that users' programs import
_OURS = (
    "tremula",
    "tensorflow_ipu",
    "tensorflow_plugin",
    "keras_ipu",
    "popdist",
    "ipu_tensorflow_addons",
)


@functools.cache
def stock_folders() -> tuple[str, ...]:
    """Folders of the packages whose lines are not the user's: TensorFlow, its estimators and Keras."""
    # a front-end module imports a part of TensorFlow: the package is above it
    whole = tf.__file__.partition(f"{os.sep}tensorflow{os.sep}")[0] + f"{os.sep}tensorflow{os.sep}"
    beside = os.path.dirname(whole.rstrip(os.sep))
    return whole, f"{beside}{os.sep}tensorflow_estimator{os.sep}", os.path.dirname(keras.__file__) + os.sep


def current_line() -> SourceLine | None:
    """The innermost line of the user's on the stack."""
    return user_line(stock_folders())


def line_of(op: Any) -> SourceLine | None:
    """The innermost line of the user's at which an op of a graph was made."""
    trace = getattr(op, "traceback", None)
    if trace is None:
        return None
    for frame in reversed(list(trace)):
        if _is_users(frame.filename):
            return SourceLine(frame.filename, frame.lineno, frame.name)
    return None


@functools.cache
def _is_users(file: str) -> bool:
    here = os.path.dirname(os.path.dirname(os.path.abspath(tremula.__file__))) + os.sep
    ours = tuple(f"{here}{name}{os.sep}" for name in _OURS)
    library = os.path.dirname(os.__file__) + os.sep
    if file.startswith(("<", *stock_folders(), *ours)) or "__autograph_generated" in file:
        return False
    return not file.startswith(library) or "site-packages" in file
