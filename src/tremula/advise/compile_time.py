"""Predicts the compile time on real hardware from a line through published times (compile_times.toml).

It is a rough guide: the fitted rows lie within 30 %, others up to 2.5 times above, and nothing is known of the hosts.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources

from tremula.checked_json import BadValue, decode
from tremula.errors import Error
from tremula.estimate.estimate import Estimate


@dataclass(frozen=True)
class Published:
    """A published compile time."""

    what: str
    seconds: float
    source: str
    #: pieces of work of the program; None: the model is not known well enough
    ops: int | None = None
    fitted: bool = False


@dataclass(frozen=True)
class Formula:
    """The line, and how far published times lie from it."""

    base_seconds: float
    seconds_per_op: float
    low: float
    high: float
    rows: tuple[Published, ...]

    @property
    def fitted_rows(self) -> int:
        """Rows that the line goes through."""
        return sum(row.fitted for row in self.rows)


@dataclass(frozen=True)
class CompileTime:
    """Predicted seconds on real hardware."""

    seconds: float
    low: float
    high: float
    ops: int
    fitted_rows: int

    def __str__(self) -> str:
        return (
            f"about {minutes(self.seconds)} to compile on hardware ({minutes(self.low)} to {minutes(self.high)}; "
            f"modelled from {self.ops:,} ops by {self.fitted_rows} published times)"
        )


@functools.cache
def formula() -> Formula:
    """The fitted line with its rows."""
    text = resources.files("tremula.advise").joinpath("compile_times.toml").read_text(encoding="utf-8")
    return parse(text)


def parse(text: str) -> Formula:
    """The line from TOML."""
    given = tomllib.loads(text)
    try:
        found = decode(Formula, {**given["formula"], "rows": given["row"]}, lenient=True)
    except (KeyError, TypeError, BadValue) as problem:
        raise Error(f"The table of compile times is damaged: {problem}.") from problem
    if not (found.base_seconds > 0 and found.seconds_per_op > 0 and 0 < found.low <= 1 <= found.high):
        raise Error("The formula for compile times needs positive numbers and low <= 1 <= high.")
    return found


def pieces_of_work(found: Estimate) -> int:
    """Pieces of work of a program: every op that costs something, once."""
    return sum(len(op.works) for op in found.program.ops)


def compile_time(found: Estimate) -> CompileTime:
    """How long the program of an estimate would take to compile."""
    return compile_time_of(pieces_of_work(found))


def compile_time_of(ops: int) -> CompileTime:
    """The same for so many pieces of work."""
    line = formula()
    seconds = line.base_seconds + line.seconds_per_op * ops
    return CompileTime(seconds, seconds * line.low, seconds * line.high, ops, line.fitted_rows)


def minutes(seconds: float) -> str:
    """A time as people wait for it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
