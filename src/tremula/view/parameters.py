"""Parameters of a question to a report: texts of unknown origin, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tremula.errors import Error
from tremula.view.text import clean

#: digits of a whole number that is read
_DIGITS = 12
_LONGEST = 200
_LARGEST = 1e18


class Parameters:
    """The parameters of one question."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def integer(self, name: str, missing: int | None = None, *, low: int = 0, high: int = 2**40) -> int:
        """A whole number from `low` to `high`; raises Error if it is none, or is not there and must be."""
        text = self._values.get(name, "")
        if not text and missing is not None:
            return missing
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            raise Error(f"{name} must be a whole number, not {clean(text, 40)!r}.", type="view_error")
        if not low <= int(text) <= high:
            raise Error(f"{name} must be from {low:,} to {high:,}, not {int(text):,}.", type="view_error")
        return int(text)

    def number(self, name: str) -> float:
        """A finite number; raises Error if it is none, or is not there."""
        text = self._values.get(name, "")
        try:
            found = float(text[:_LONGEST])
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or abs(found) > _LARGEST:
            raise Error(f"{name} must be a number, not {clean(text, 40)!r}.", type="view_error")
        return found

    def text(self, name: str, longest: int = _LONGEST) -> str:
        """A text, cut to a bounded length; empty if it is not there."""
        return self._values.get(name, "")[:longest]
