"""How tensors are printed, with the names of C++."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FloatFormat(Enum):
    """The format of floating-point numbers."""

    Auto = 0
    Fixed = 1
    Scientific = 2
    NoFormat = 3  # `None` in C++, which is a word of Python's own

    @property
    def word(self) -> str:
        """The name of the engine's format."""
        return "none" if self is FloatFormat.NoFormat else self.name.lower()


@dataclass
class PrintTensorFmt:
    """The format of PrintTensor. By default, all elements are printed in a row with seven decimals."""

    summariseThreshold: int = 1000
    edgeItems: int = 3
    maxLineWidth: int = 75
    digits: int = 4
    floatFormat: FloatFormat = FloatFormat.Auto
    separator: str = " "
    openBracket: str = "["
    closeBracket: str = "]"


PrintTensorFmt.FloatFormat = FloatFormat  # type: ignore[attr-defined]
