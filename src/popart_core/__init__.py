"""The compiled half of PopART by its own name: the same classes."""

from __future__ import annotations

from typing import Any

import popart
from popart import __all__ as __all__


def __getattr__(name: str) -> Any:
    return getattr(popart, name)
