"""The optional arguments that end most functions: an element type, a name, options and a planning cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.frontends.poplar.libs.arguments import Arguments


class PlanningCache:
    """Plans that real functions keep between calls. Plans here are kept by the chip model, so this holds none."""

    def size(self) -> int:
        """The number of plans in the cache: always 0."""
        return 0


def ending(function: str, rest: Sequence[Any], debug: Any = "", options: Any = None) -> Arguments:
    """The arguments after those that every form has; a planning cache at the end is left out."""
    values = list(rest)
    no_cache = len(values) > 1 and values[-1] is None and isinstance(values[-2], Mapping)
    if values and (no_cache or isinstance(values[-1], PlanningCache)):
        values.pop()
    return Arguments(function, values, debug, options)
