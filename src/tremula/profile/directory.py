"""A folder of reports: one profile for each engine of a program, and the traces beside them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tremula.errors import Error

PROFILE_NAME = "profile.pop"
_TRACE_ENDING = ".pvti"
#: folders below the one that is asked for, and entries that are looked at
_DEEPEST = 3
_MOST_ENTRIES = 20_000
_MOST_REPORTS = 1_000


@dataclass(frozen=True)
class Report:
    """A profile and the traces in its folder; one of them may be missing."""

    #: path of its folder from the one that was asked for; that one's own name where they are the same
    name: str
    folder: Path
    profile: Path | None
    traces: tuple[Path, ...] = ()


def reports(folder: str | os.PathLike[str]) -> list[Report]:
    """The reports in `folder` and up to three folders below, by name.

    Links to other folders are not followed, hidden ones not looked at. Raises Error if the folder cannot be read.
    """
    top = Path(folder)
    found: list[Report] = []
    entries = 0
    waiting = [(top, 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as listed:
                here = sorted(listed, key=lambda entry: entry.name)
        except OSError as problem:
            if place == top:
                raise Error(
                    f"The folder {top} cannot be read: {problem.strerror or problem}.", type="profile_error"
                ) from None
            continue
        entries += len(here)
        profile = next(
            (Path(each.path) for each in here if each.name == PROFILE_NAME and each.is_file()), None
        )
        traces = tuple(
            Path(each.path) for each in here if each.name.endswith(_TRACE_ENDING) and each.is_file()
        )
        if profile or traces:
            name = place.relative_to(top).as_posix() if place != top else top.resolve().name
            found.append(Report(name, place, profile, traces))
        if entries > _MOST_ENTRIES or len(found) >= _MOST_REPORTS:
            break
        if depth < _DEEPEST:
            waiting += [
                (Path(each.path), depth + 1)
                for each in reversed(here)
                if each.is_dir(follow_symlinks=False) and not each.name.startswith(".")
            ]
    return sorted(found, key=lambda report: report.name)
