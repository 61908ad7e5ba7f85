"""Helpers that read the reports of Poplar and the trace of device events.

Neither is written yet. Tests may ask for them (nothing happens); a test that looks into one is skipped with the reason.
"""

from __future__ import annotations

import fnmatch
import shutil
import tempfile
import unittest
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

NO_REPORTS = "Poplar reports are not written yet"
NO_EVENTS = "IPU events are not traced yet"


def skip(reason: str) -> NoReturn:
    """End the running test as skipped."""
    raise unittest.SkipTest(reason)


class ReportHelper:
    """Asks for reports in a folder of its own."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="tf_")
        weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)

    def set_autoreport_options(
        self,
        cfg: Any,
        *,
        output_graph_profile: bool = True,
        output_execution_profile: bool = False,
        max_execution_reports: int = 1000,
    ) -> None:
        """Ask for reports in the options of `cfg`."""
        wanted = {
            "directory": self._directory,
            "outputGraphProfile": str(output_graph_profile).lower(),
            "outputExecutionProfile": str(output_execution_profile).lower(),
            "executionProfileProgramRunCount": str(max_execution_reports),
        }
        cfg.compilation_poplar_options = {f"autoReport.{name}": value for name, value in wanted.items()}

    def find_reports(self) -> list[str]:
        """The files of all reports: skips the test."""
        skip(NO_REPORTS)

    def find_report(self) -> str:
        """The file of the only report: skips the test."""
        skip(NO_REPORTS)

    def clear_reports(self) -> None:
        """Remove the reports, of which there are none."""


class ReportJSON:
    """Reads the trace of device events: its making and `reset` do nothing, everything else skips the test."""

    def __init__(self, test: Any, sess: Any = None, eager_mode: bool = False) -> None:
        if eager_mode and sess is not None:
            raise ValueError("in eager mode there is no session to read the trace with")
        self.test = test
        self.sess = sess
        self.eager_mode = eager_mode
        self.report = None

    def create_ipu_event_trace(self) -> None:
        """Begin a trace."""

    def reset(self) -> None:
        """Forget the events so far."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: skip(NO_EVENTS)


class TensorMap:
    """Which tile holds what: part of a trace, so making one skips the test."""

    def __init__(self, _tensor_map: Any) -> None:
        skip(NO_EVENTS)


def missing_whitelist_entries_in_names(names: Iterable[str], whitelist: Iterable[str]) -> list[str]:
    """The patterns, as `*text*`, that match none of the names."""
    known = list(names)
    patterns = [f"*{text}*" for text in whitelist]
    return [pattern for pattern in patterns if not fnmatch.filter(known, pattern)]


_ASSERTIONS = (
    "assert_all_compute_sets_and_list", "assert_num_reports", "assert_compute_sets_matches",
    "assert_compute_sets_contain_list", "assert_compute_sets_not_in_blacklist", "assert_vertices_contain_list",
    "assert_each_tile_memory_is_less_than", "assert_total_tile_memory", "assert_max_tile_memory",
    "assert_always_live_memory", "assert_execution_report_cycles", "assert_number_of_executions",
    "assert_compute_io_overlap_percentage", "assert_global_exchange_percentage",
)  # fmt: skip


def _skipping(name: str) -> Callable[..., None]:
    def assertion(self: Any, *args: Any, **kwargs: Any) -> None:
        skip(NO_REPORTS)

    assertion.__name__ = name
    assertion.__doc__ = "An assertion about a report: skips the test."
    return assertion


#: assertions about reports, for classes of tests
TestCaseExtensions = type(
    "TestCaseExtensions", (), {name: _skipping(name) for name in _ASSERTIONS} | {"__test__": False}
)


def extend_test_cases(test_case: type) -> None:
    """Give the assertions to a class of tests."""
    for name in _ASSERTIONS:
        setattr(test_case, name, getattr(TestCaseExtensions, name))
