"""Reads profiles and host traces of Tremula through the interface of libpva (docs/pva.md).

    report = pva.openReport("training/profile.pop")
    print(report.compilation.graph.numComputeSets)

All figures are modelled. An attribute that the chip model does not know raises `NotModelled`, an
AttributeError.
"""

from __future__ import annotations

import os

from pva import assertions, pva_core
from pva.assertions import ReportError
from pva.not_modelled import NotModelled
from pva.pva_core import *  # noqa: F403

__all__ = [
    *pva_core.__all__,
    "NotModelled",
    "ReportError",
    "assertions",
    "openReport",
    "openTrace",
    "pva_core",
]


def openReport(
    profileFilename: str | os.PathLike[str], debugInfoFilename: str | os.PathLike[str] | None = None
) -> pva_core.Report:
    """Open a profile.pop, or the one in a folder.

    Debug contexts are in the profile itself; `debugInfoFilename` is accepted but not read.

    Raises:
        Error: there is no such file, it is not a profile, a damaged one, or one of a newer version.
    """
    return pva_core.Report(profileFilename)


def openTrace(filename: str | os.PathLike[str]) -> pva_core.Trace:
    """Open a .pvti file. Raises Error if it is not a trace."""
    return pva_core.Trace(filename)
