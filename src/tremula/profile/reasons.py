"""The reason of a cost as the file keeps it: JSON of a fixed form, checked when it is read.

The words and numbers are the planner's that costed the op. Depth and number of parts are bounded, so that a hostile
file cannot make a reader recurse for long.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: nesting and number of parts that are read; planners stay far below
_DEEPEST = 12
_MOST = 200


@dataclass(frozen=True)
class Rejected:
    """A plan that was considered and not taken."""

    plan: str
    cycles: float
    reason: str


@dataclass(frozen=True)
class Reason:
    """The plan that was taken, the formula behind its cost and where that comes from."""

    plan: str = ""
    formula: str = ""
    source: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    alternatives: tuple[Rejected, ...] = ()
    parts: tuple[Reason, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Indented text."""
        indent = "  " * depth
        numbers = ", ".join(f"{name} {value:,.6g}" for name, value in self.figures.items())
        for label, text in (
            ("", self.plan), ("= ", self.formula), ("with ", numbers), ("source: ", self.source)
        ):  # fmt: skip
            if text:
                yield f"{indent}{label}{text}"
        for each in self.alternatives:
            yield f"{indent}not taken: {each.plan}: {each.cycles:,.0f} cycles, {each.reason}"
        for part in self.parts:
            yield from part.lines(depth + 1)


def parsed(text: str) -> Reason:
    """The reason that `text` holds; raises ValueError if it has another form."""
    return _reason(json.loads(text), 0)


def _reason(value: Any, depth: int) -> Reason:
    if not isinstance(value, dict) or depth > _DEEPEST:
        raise ValueError("a reason that is not an object, or is nested too deep")
    figures = value.get("figures", {})
    alternatives, parts = value.get("alternatives", []), value.get("parts", [])
    if not (isinstance(figures, dict) and isinstance(alternatives, list) and isinstance(parts, list)):
        raise ValueError("a reason with fields of the wrong kind")
    if max(len(figures), len(alternatives), len(parts)) > _MOST:
        raise ValueError("a reason with too many parts")
    return Reason(
        plan=_text(value.get("plan", "")),
        formula=_text(value.get("formula", "")),
        source=_text(value.get("source", "")),
        figures={_text(name): _number(number) for name, number in figures.items()},
        alternatives=tuple(_rejected(each) for each in alternatives),
        parts=tuple(_reason(part, depth + 1) for part in parts),
    )


def _rejected(value: Any) -> Rejected:
    if not isinstance(value, dict):
        raise ValueError("an alternative that is not an object")
    return Rejected(
        _text(value.get("plan", "")), _number(value.get("cycles", 0)), _text(value.get("reason", ""))
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text of a reason that is not a string")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a figure of a reason that is not a number")
    return float(value)
