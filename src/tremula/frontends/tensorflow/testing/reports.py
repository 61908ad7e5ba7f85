"""Helpers of tests that read profiles, and of those that read the trace of device events.

Profiles are modelled: what a test says about them is compared with modelled figures and with our names of compute
sets. Device events are not traced; a test that looks into one is skipped with the reason.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import tempfile
import unittest
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

NO_EVENTS = "IPU events are not traced yet"


def skip(reason: str) -> NoReturn:
    """End the running test as skipped."""
    raise unittest.SkipTest(reason)


class ReportHelper:
    """Asks for profiles in a folder of its own, and finds them; the folder goes with the helper."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="tf_")
        self._asked = False
        weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)

    def set_autoreport_options(
        self,
        cfg: Any,
        *,
        output_graph_profile: bool = True,
        output_execution_profile: bool = False,
        max_execution_reports: int = 1000,
    ) -> None:
        """Ask for profiles in the options of `cfg`."""
        wanted = {
            "directory": self._directory,
            "outputGraphProfile": str(output_graph_profile).lower(),
            "outputExecutionProfile": str(output_execution_profile).lower(),
            "executionProfileProgramRunCount": str(max_execution_reports),
        }
        cfg.compilation_poplar_options = {f"autoReport.{name}": value for name, value in wanted.items()}
        self._asked = True

    def find_reports(self) -> list[str]:
        """The profiles of all programs that were compiled, oldest first."""
        folder = Path(self._directory)
        if not folder.is_dir():
            raise OSError(f"The folder of the reports, {folder}, no longer exists.")
        if not self._asked:
            raise RuntimeError("set_autoreport_options was not called, so there are no reports.")
        found = [str(path) for path in folder.glob("tf_report_*/*.pop")]
        return sorted(found, key=lambda path: (os.stat(path).st_ctime_ns, path))

    def find_report(self) -> str:
        """The profile of the only program that was compiled."""
        found = self.find_reports()
        if len(found) != 1:
            raise AssertionError(
                f"There are {len(found)} reports instead of one: {', '.join(found) or 'none'}."
            )
        return found[0]

    def clear_reports(self) -> None:
        """Remove the profiles."""
        for entry in Path(self._directory).iterdir():
            shutil.rmtree(entry, ignore_errors=True)


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
