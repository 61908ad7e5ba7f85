"""A report: what was found about a program, and its recorded runs."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass

from pva.assertions import Checks
from pva.compilation import CompilationReport
from pva.enums import ComputeInstrumentationLevel, ExternalExchangeInstrumentationLevel
from pva.execution import ExecutionReport
from pva.source import Source


@dataclass(frozen=True)
class PoplarVersion:
    """The version of Tremula that wrote the profile. No Poplar was used, as `string` shows."""

    major: int
    minor: int
    point: int
    packageHash: str

    @property
    def string(self) -> str:
        """As text, in the form of the original."""
        return f"{self.major}.{self.minor}.{self.point} ({self.packageHash})"


@dataclass(frozen=True)
class Version:
    """The version of the profile's schema."""

    major: int
    minor: int = 0
    point: int = 0
    isUnstableFormat: bool = False


@dataclass(frozen=True)
class InstrumentationSettings:
    """How cycles were recorded: they were modelled, which is none of the original's levels."""

    compute: ComputeInstrumentationLevel
    externalExchange: ExternalExchangeInstrumentationLevel


class Report:
    """An open profile. Everything is read when it is first used. A report is a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._source = Source(path)

    @functools.cached_property
    def compilation(self) -> CompilationReport:
        """The results about the program before it ran."""
        return CompilationReport(self._source)

    @functools.cached_property
    def execution(self) -> ExecutionReport:
        """The recorded runs."""
        return ExecutionReport(self._source, self.compilation.tree)

    @property
    def instrumentationSettings(self) -> InstrumentationSettings:
        """Off where no run is recorded, otherwise unknown: nothing was instrumented."""
        if self._source.profile.runs:
            return InstrumentationSettings(
                ComputeInstrumentationLevel.Unknown, ExternalExchangeInstrumentationLevel.Unknown
            )
        return InstrumentationSettings(
            ComputeInstrumentationLevel.Off, ExternalExchangeInstrumentationLevel.Off
        )

    @property
    def poplarVersion(self) -> PoplarVersion:
        """The program that wrote the profile."""
        numbers = re.findall(r"\d{1,6}", self._source.profile.meta.get("written_by", ""))[:3]
        major, minor, point = [int(number) for number in numbers] + [0] * (3 - len(numbers))
        return PoplarVersion(major, minor, point, "tremula")

    @property
    def version(self) -> Version:
        """The version of the schema of the file."""
        return Version(self._source.profile.version)

    @property
    def check(self) -> Checks:
        """Checks for tests and continuous integration."""
        return Checks(self)

    def listPrintLength(self, length: int) -> None:
        """Set how many items the text of a list shows."""
        self._source.print_length.items = max(0, int(length))

    def close(self) -> None:
        """Close the file."""
        self._source.profile.close()

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Report({os.fspath(self._source.profile.path)!r})"
