"""The reports that a viewer shows: profiles and host traces, found in what the user names, opened when first asked for.

A folder may hold several: one profile for each engine below it, and the traces of all instances of a run, which are
one report on one clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.directory import PROFILE_NAME, reports
from tremula.trace.several import TraceSet
from tremula.view import endpoints, trace_answers
from tremula.view.page_data import report_title
from tremula.view.text import clean

PROFILE, TRACE = "profile", "trace"
#: reports of one viewer
MOST_REPORTS = 64


@dataclass(frozen=True)
class Report:
    """A profile, or traces on one clock."""

    number: int
    name: str
    kind: str
    paths: tuple[Path, ...]


def find_reports(named: Iterable[Path]) -> list[Report]:
    """The reports in files and folders, in the order in which they were named; raises Error if there are none."""
    found: list[tuple[str, str, tuple[Path, ...]]] = []
    for path in named:
        here = _in_folder(path) if path.is_dir() else [_of_file(path)]
        if not here:
            raise Error(
                f"Found no profile.pop and no .pvti file in {path}. Write a profile with `tremula profile PROGRAM`, or "
                "a trace by setting PVTI_OPTIONS.",
                type="view_error",
            )
        found += here
    if len(found) > MOST_REPORTS:
        raise Error(
            f"Found {len(found):,} reports; choose at most {MOST_REPORTS} of them.", type="view_error"
        )
    return [
        Report(number, name, kind, paths)
        for number, (name, (_, kind, paths)) in enumerate(zip(_told_apart(found), found, strict=True))
    ]


def _told_apart(found: list[tuple[str, str, tuple[Path, ...]]]) -> list[str]:
    """The names of reports, with the folder around where several have the same."""
    counts = Counter(name for name, _, _ in found)
    names = []
    for name, kind, paths in found:
        place = paths[0].absolute().parent
        around = place.parent.name if kind == PROFILE and paths[0].name == PROFILE_NAME else place.name
        names.append(f"{around}/{name}" if counts[name] > 1 and around else name)
    return names


def _of_file(path: Path) -> tuple[str, str, tuple[Path, ...]]:
    if path.suffix == ".pvti":
        return path.stem, TRACE, (path,)
    name = path.parent.absolute().name if path.name == PROFILE_NAME else path.stem
    return name or path.name, PROFILE, (path,)


def _in_folder(folder: Path) -> list[tuple[str, str, tuple[Path, ...]]]:
    found = reports(folder)
    profiles = [(each.name, PROFILE, (each.profile,)) for each in found if each.profile is not None]
    traces = tuple(path for each in found for path in each.traces)
    return [*profiles, *([(f"{folder.resolve().name}: host", TRACE, traces)] if traces else [])]


class OpenReports:
    """Answers for reports; each is opened when it is first asked for."""

    def __init__(self, reports: list[Report]) -> None:
        self.reports = reports
        self._opened: dict[int, Profile | TraceSet] = {}

    def listed(self) -> dict[str, list[dict[str, str]]]:
        """The reports, as pages list them; one that cannot be read says so in its title."""
        found = []
        for each in self.reports:
            info = {"id": str(each.number), "name": clean(each.name, 80), "kind": each.kind}
            try:
                opened = self._open(each.number)
            except Error as problem:
                found.append({**info, "title": clean(problem.message, 300)})
                continue
            title = report_title(opened) if isinstance(opened, Profile) else opened.title
            found.append({**info, "title": clean(title, 120)})
        return {"reports": found}

    def answer(self, number: int, what: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a question about a report."""
        opened = self._open(number)
        if isinstance(opened, Profile):
            return endpoints.answer(opened, what, parameters)
        return trace_answers.answer(opened, what, parameters)

    def frame(
        self, number: int, name: str, columns: list[str], first: int, rows: int | None
    ) -> dict[str, Any]:
        """Rows of a frame of a profile."""
        opened = self._open(number)
        if not isinstance(opened, Profile):
            raise Error("A trace has no frames.", type="view_error")
        return endpoints.frame_answer(opened, name, columns, first, rows)

    def _open(self, number: int) -> Profile | TraceSet:
        if number not in self._opened:
            report = self.reports[number]
            self._opened[number] = (
                Profile(report.paths[0]) if report.kind == PROFILE else TraceSet(report.paths)
            )
        return self._opened[number]

    def close(self) -> None:
        """Let go of the files."""
        for opened in self._opened.values():
            if isinstance(opened, Profile):
                opened.close()
        self._opened.clear()
