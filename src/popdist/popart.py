"""Distributed runs of PopART programs: the entry points exist, PopART itself does not yet."""

from __future__ import annotations

from typing import Any, NoReturn

from ._other_front_ends import refuse

__all__ = ["configureSessionOptions", "getDevice"]


def configureSessionOptions(options: Any) -> NoReturn:
    """Not here yet: raises Error."""
    refuse("popdist.popart.configureSessionOptions", "PopART")


def getDevice(connectionType: Any = None, ipusPerReplica: int = 0) -> NoReturn:
    """Not here yet: raises Error."""
    refuse("popdist.popart.getDevice", "PopART")
