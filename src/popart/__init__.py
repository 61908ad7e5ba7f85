"""The part of PopART that PopTorch programs use: its enumerations and its version.

Graphs and sessions (`Builder`, `InferenceSession`, ...) are not there yet; asking for them says so.
"""

from __future__ import annotations

from typing import NoReturn

from tremula import __version__ as _tremula
from tremula.settings.shims import STACK_VERSION as __version__

from . import _enums
from ._enums import *

__all__ = [*_enums.__all__, "versionNumber", "versionString"]


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
