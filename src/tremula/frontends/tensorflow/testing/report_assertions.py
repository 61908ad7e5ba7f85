"""Assertions about a report, as `pva.openReport` gives it, for classes of tests."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from typing import Any

from tremula.frontends.tensorflow.testing.reports import missing_whitelist_entries_in_names

#: compute sets that a program may have besides those that a test names
_COMMON = ("*__seed*", "*host-exchange-*", "*[cC]opy_*")
_SHOWN = 20

Interval = tuple[int, int]


class TestCaseExtensions:
    """Assertions that are added to test cases; all figures are modelled."""

    __test__ = False

    #: of unittest.TestCase
    fail: Any

    def assert_num_reports(self, report_helper: Any, n: int) -> None:
        """So many reports were written."""
        self._equal(len(report_helper.find_reports()), n, "reports were written")

    # -- compute sets and vertices

    def assert_all_compute_sets_and_list(
        self, report: Any, ok: Iterable[str], ignore_common: bool = True
    ) -> None:
        """Every compute set has one of the texts in its name, and every text is in one of the names."""
        texts, names = list(ok), _compute_sets(report)
        self._refuse(missing_whitelist_entries_in_names(names, texts), "patterns match no compute set", names)
        allowed = [f"*{text}*" for text in texts] + (list(_COMMON) if ignore_common else [])
        others = [name for name in names if not any(fnmatch.fnmatch(name, each) for each in allowed)]
        self._refuse(others, "compute sets match no pattern", texts)

    def assert_compute_sets_matches(self, report: Any, expr: str, num_matches: int, msg: Any = None) -> None:
        """So many compute sets match the pattern."""
        names = _compute_sets(report)
        self._equal(len(fnmatch.filter(names, expr)), num_matches, msg or f"compute sets match {expr}")

    def assert_compute_sets_contain_list(self, report: Any, ok: Iterable[str]) -> None:
        """Every text is in the name of a compute set."""
        names = _compute_sets(report)
        self._refuse(missing_whitelist_entries_in_names(names, ok), "patterns match no compute set", names)

    def assert_compute_sets_not_in_blacklist(self, report: Any, blacklist: Iterable[str]) -> None:
        """No text is in the name of a compute set."""
        names = _compute_sets(report)
        found = [name for text in blacklist for name in fnmatch.filter(names, f"*{text}*")]
        self._refuse(found, "compute sets match a forbidden pattern", [])

    def assert_vertices_contain_list(self, report: Any, ok: Iterable[str]) -> None:
        """Every text is in the name of a type of vertices."""
        names = sorted({v.type.name for each in report.compilation.computeSets for v in each.vertices})
        self._refuse(missing_whitelist_entries_in_names(names, ok), "patterns match no vertex", names)

    # -- memory

    def assert_each_tile_memory_is_less_than(
        self, report: Any, max_expected: float, tolerance: float = 0.01
    ) -> None:
        """No tile needs more, gaps not counted."""
        most, limit = max(_tile_bytes(report)), int(max_expected * (1 + tolerance))
        if most > limit:
            self.fail(f"the fullest tile needs {most:,} bytes (modelled), more than {limit:,}")

    def assert_total_tile_memory(self, report: Any, expected: float, tolerance: float = 0.01) -> None:
        """All tiles together need about so much, gaps not counted."""
        self._close(sum(_tile_bytes(report)), expected, tolerance, "bytes on all tiles")

    def assert_max_tile_memory(self, report: Any, expected: float, tolerance: float = 0.01) -> None:
        """The fullest tile needs about so much, gaps not counted."""
        self._close(max(_tile_bytes(report)), expected, tolerance, "bytes on the fullest tile")

    def assert_always_live_memory(self, report: Any, expected: float, tolerance: float = 0.01) -> None:
        """About so much is there for the whole run."""
        found = sum(tile.memory.alwaysLiveBytes for tile in report.compilation.tiles)
        self._close(found, expected, tolerance, "bytes that are always live")

    # -- runs

    def assert_number_of_executions(self, report: Any, n: int) -> None:
        """So many runs are recorded."""
        self._equal(len(report.execution.runs), n, "runs are recorded")

    def assert_execution_report_cycles(
        self, report: Any, expected: float, tolerance: float = 0.01, expected_executions: int = 1
    ) -> None:
        """So many runs are recorded, and they take about so many cycles."""
        self.assert_number_of_executions(report, expected_executions)
        self._close(report.execution.totalCycles.total, expected, tolerance, "cycles of the recorded runs")

    def assert_compute_io_overlap_percentage(self, report: Any, p: float) -> None:
        """In the first run, more than this share of computing or of host transfers is at the same time as the other."""
        computing = list(_intervals(report, "OnTileExecute"))
        copying = list(_intervals(report, "StreamCopyMid"))
        both = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in computing for b in copying)
        shortest = min(sum(end - start for start, end in each) for each in (computing, copying))
        share = both / shortest if shortest else 0.0
        if share <= p:
            self.fail(
                f"{share} not greater than {p}: share of computing or host transfers that overlap (modelled)"
            )

    def assert_global_exchange_percentage(self, report: Any, p: float) -> None:
        """In the first run, exchanges between IPUs take at most this share of the cycles of the first IPU."""
        total = sum(end - start for start, end in _intervals(report, None))
        found = sum(end - start for start, end in _intervals(report, "GlobalExchange"))
        share = found / total if total else 0.0
        if share > p:
            self.fail(f"{p} not greater than or equal to {share}: share of exchanges between IPUs (modelled)")

    # -- texts

    def _equal(self, found: int, expected: int, what: str) -> None:
        if found != expected:
            self.fail(f"{found} {what} instead of {expected}")

    def _close(self, found: float, expected: float, tolerance: float, what: str) -> None:
        if not int(expected * (1 - tolerance)) <= found <= int(expected * (1 + tolerance)):
            self.fail(f"{found:,.0f} {what} (modelled) instead of {expected:,.0f} within {tolerance:.1%}")

    def _refuse(self, wrong: list[str], what: str, others: Iterable[str]) -> None:
        if wrong:
            there = list(others)
            listed = f"; there are {', '.join(there[:_SHOWN])}" if there else ""
            more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
            self.fail(f"{len(wrong)} {what}: {', '.join(wrong[:_SHOWN])}{listed}{more}")


def _compute_sets(report: Any) -> list[str]:
    return [each.name for each in report.compilation.computeSets]


def _tile_bytes(report: Any) -> list[int]:
    return [tile.memory.total.excludingGaps for tile in report.compilation.tiles]


def _intervals(report: Any, kind: str | None) -> Iterator[Interval]:
    """When the first IPU runs programs of a type in the first run; of any type, if None."""
    for step in report.execution.runs[0].steps:
        if kind is None or step.program.type.name == kind:
            active = step.ipus[0].activeCycles
            yield active.cyclesFrom.max, active.cyclesTo.max


def extend_test_cases(test_case: type) -> None:
    """Give the assertions to a class of tests."""
    for name, value in vars(TestCaseExtensions).items():
        if callable(value):
            setattr(test_case, name, value)
