"""The part of PopART that PopTorch programs use: its enumerations and its version.

Graphs and sessions (`Builder`, `InferenceSession`, ...) are not there yet; asking for them says so.
"""

from __future__ import annotations

from typing import NoReturn

from tremula import __version__ as _tremula
from tremula.settings.shims import STACK_VERSION as __version__

from . import _enums, _exceptions, _optimizers, _patterns, _session_options
from ._enums import *
from ._exceptions import *
from ._optimizers import *
from ._patterns import *
from ._session_options import *

__all__ = [
    *_enums.__all__,
    *_exceptions.__all__,
    *_optimizers.__all__,
    *_patterns.__all__,
    *_session_options.__all__,
    "versionNumber",
    "versionString",
]


def versionString() -> str:
    """The version that this package stands in for, and which package it is: `3.3.0 (Tremula ...)`."""
    return f"{__version__} (Tremula {_tremula})"


def versionNumber() -> tuple[int, ...]:
    """Major, minor and point version that this package stands in for."""
    return tuple(int(part) for part in __version__.split("."))


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"popart.{name} is not there yet: Tremula's popart has the enumerations and the version that PopTorch "
        "programs use, and runs no PopART programs (docs/limits.md).",
        name=name,
    )
