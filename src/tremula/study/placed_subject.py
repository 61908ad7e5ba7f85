"""A program that has put itself on tiles: nothing about it can be varied, so the answer is its figures as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tremula.profile import Profile
from tremula.study.result import Result
from tremula.study.saved import result_of_profile


@dataclass(frozen=True)
class PlacedSubject:
    """What a front end gives for such a program."""

    name: str
    #: the figures as text
    summary: Callable[[], str]
    #: writes a profile into a folder
    write_profile: Callable[[Path], Path]

    def result(self) -> Result:
        """The figures as those of a profile."""
        with (
            tempfile.TemporaryDirectory(prefix="tremula-estimate-") as folder,
            Profile.open(self.write_profile(Path(folder))) as profile,
        ):
            return replace(result_of_profile(profile), name=self.name)
