"""Checks of a report for tests and continuous integration, each with a message that names what is wrong.

    with pva.openReport("training/profile.pop") as report:
        report.check.fits()
        report.check.worst_tile_below(0.9)
        report.check.total_cycles_below(2_000_000)

A check that holds returns the report's checks, so that checks can follow each other in one line.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from tremula.formatting import plain

if TYPE_CHECKING:
    from pva.report import Report

_NAMED = 5


class ReportError(AssertionError):
    """A check of a report failed."""


class Checks:
    """Checks of one report; all figures are modelled."""

    def __init__(self, report: Report) -> None:
        self._report = report

    # -- memory ------------------------------------------------------------------------------------------

    def fits(self) -> Checks:
        """Every tile has enough memory, including gaps."""
        columns = self._report.compilation.tiles.to_numpy("overflowedIncludingGaps", "ipu")
        over = np.flatnonzero(columns["overflowedIncludingGaps"])
        if len(over):
            worst = int(over[np.argmax(columns["overflowedIncludingGaps"][over])])
            self._fail(
                f"{len(over):,} tiles are out of memory; the worst, {self._tile(worst)}, is "
                f"{int(columns['overflowedIncludingGaps'][worst]):,} bytes over. {self._largest(worst)}"
            )
        return self

    def worst_tile_below(self, limit: float) -> Checks:
        """The fullest tile, gaps included, is below `limit`: bytes, or a share of a tile's memory up to 1.0."""
        has = self._report.compilation.target.bytesPerTile
        allowed = limit * has if 0 < limit <= 1 else limit
        sizes = self._report.compilation.tiles.to_numpy("totalIncludingGaps")["totalIncludingGaps"]
        worst = int(np.argmax(sizes))
        if sizes[worst] >= allowed:
            self._fail(
                f"{self._tile(worst)} needs {int(sizes[worst]):,} bytes ({sizes[worst] / has:.1%} of its memory), "
                f"which is not below {int(allowed):,}. {self._largest(worst)}"
            )
        return self

    def always_live_bytes_below(self, limit: int) -> Checks:
        """The always-live memory on all tiles of a replica is below `limit` bytes."""
        variables = self._report.compilation.alwaysLiveVariables
        total = int(variables.to_numpy("size")["size"].sum())
        if total >= limit:
            largest = sorted(variables, key=lambda each: each.size, reverse=True)[:_NAMED]
            named = ", ".join(f"{each.name} {each.size:,}" for each in largest)
            self._fail(
                f"{total:,} bytes are always live, which is not below {limit:,}. The largest: {named}."
            )
        return self

    def category_bytes_below(self, category: str, limit: int) -> Checks:
        """Bytes of a memory category, on all tiles of the system, are below `limit`."""
        total = sum(getattr(ipu.memory.category, category).total for ipu in self._report.compilation.ipus)
        if total >= limit:
            self._fail(f"{category} takes {total:,} bytes on all tiles, which is not below {limit:,}.")
        return self

    # -- time --------------------------------------------------------------------------------------------

    def total_cycles_below(self, limit: float) -> Checks:
        """The cycles of all recorded runs together are below `limit`."""
        execution = self._report.execution
        if not len(execution.runs):
            self._fail("the profile has no recorded runs (autoReport.outputExecutionProfile writes them).")
        total = execution.totalCycles.total
        if total >= limit:
            columns = execution.steps.to_numpy("name", "cycles")
            slowest = np.argsort(columns["cycles"])[::-1][:_NAMED]
            named = ", ".join(f"{columns['name'][each]} {int(columns['cycles'][each]):,}" for each in slowest)
            self._fail(
                f"the runs take {total:,} cycles, which is not below {limit:,.0f}. The longest steps: {named}."
            )
        return self

    def run_cycles_below(self, name: str, limit: float) -> Checks:
        """Every recorded run whose name matches the pattern takes fewer than `limit` cycles."""
        runs = [run for run in self._report.execution.runs if fnmatch.fnmatchcase(run.name, name)]
        if not runs:
            self._fail(
                f"no run matches {name!r}; the runs are {self._names(r.name for r in self._report.execution.runs)}."
            )
        for run in runs:
            if run.cycles >= limit:
                self._fail(
                    f"the run {run.name!r} takes {run.cycles:,} cycles, which is not below {limit:,.0f}."
                )
        return self

    # -- programs ----------------------------------------------------------------------------------------

    def compute_sets_match(self, pattern: str, count: int | None = None) -> Checks:
        """At least one compute set matches the pattern (like a file name pattern); with `count`, exactly this
        number."""
        names = [each.name for each in self._report.compilation.computeSets]
        found = sum(fnmatch.fnmatchcase(name, pattern) for name in names)
        if (count is None and not found) or (count is not None and found != count):
            wanted = "at least 1" if count is None else str(count)
            self._fail(
                f"{found} compute sets match {pattern!r} instead of {wanted}; the compute sets are "
                f"{self._names(names)}."
            )
        return self

    def compute_sets_are_among(self, patterns: Iterable[str]) -> Checks:
        """Every compute set matches one of the patterns."""
        allowed = list(patterns)
        names = (each.name for each in self._report.compilation.computeSets)
        others = [name for name in names if not any(fnmatch.fnmatchcase(name, each) for each in allowed)]
        if others:
            self._fail(f"{len(others)} compute sets match none of the patterns: {self._names(others)}.")
        return self

    def no_compute_set_matches(self, pattern: str) -> Checks:
        """No compute set matches the pattern."""
        names = [each.name for each in self._report.compilation.computeSets]
        found = fnmatch.filter(names, pattern)
        if found:
            self._fail(f"{len(found)} compute sets match {pattern!r}: {self._names(found)}.")
        return self

    def holds(self, what: str, condition: Callable[[Report], bool]) -> Checks:
        """A custom condition. `what` describes it."""
        if not condition(self._report):
            self._fail(f"it is not true that {what}.")
        return self

    # -- texts -------------------------------------------------------------------------------------------

    def _tile(self, number: int) -> str:
        per_ipu = self._report.compilation.target.tilesPerIpu
        return f"tile {number % per_ipu} of IPU {number // per_ipu}"

    def _largest(self, tile: int) -> str:
        known = sorted(
            self._report.compilation.tiles[tile].memory.category, key=lambda each: each.total, reverse=True
        )[:3]
        return (
            f"Most of it: {', '.join(f'{each.name} {each.total:,}' for each in known if each.total)} bytes."
        )

    def _names(self, names: Iterable[str]) -> str:
        listed = list(dict.fromkeys(names))
        if not listed:
            return "none"
        more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
        return ", ".join(repr(name) for name in listed[:_NAMED]) + more

    def _fail(self, text: str) -> None:
        raise ReportError(plain(f"{self._report}: {text} (modelled figures)"))
