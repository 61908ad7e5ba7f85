"""Results in files: what `tremula estimate --save` writes, and profiles; each is checked when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path

from tremula.checked_json import BadValue, decode, read_document, write_document
from tremula.errors import Error
from tremula.profile.reader import Profile
from tremula.study.profiled import result_of_profile
from tremula.study.result import Result

FORMAT = "tremula estimate"
FORMAT_VERSION = 1


def save(results: Sequence[Result], path: str | Path) -> None:
    """Write `results` to `path`; the old file stays until the new one is complete."""
    write_document(path, FORMAT, FORMAT_VERSION, {"findings": [asdict(each) for each in results]})


def is_saved(path: str | Path) -> bool:
    """Whether `path` looks like a file of estimates, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return FORMAT.encode() in file.read(100)
    except OSError:
        return False


def read(path: str | Path) -> list[Result]:
    """The results in a file."""
    what = "a file of saved estimates (`tremula estimate ... --save FILE` writes them)"
    results = read_document(path, FORMAT, FORMAT_VERSION, what).get("findings")
    if not isinstance(results, list) or not results:
        raise Error(f"{path} holds no estimates.")
    try:
        return [decode(Result, each) for each in results]
    except BadValue as problem:
        raise Error(f"{path} is damaged: {problem}. Save the estimate again.") from None


def read_one(name: str | PathLike[str]) -> Result:
    """One result: `saved.json`, `saved.json#3` (the third of several), or a profile."""
    path, number = numbered(str(name))
    if Path(path).suffix == ".pop":
        with Profile.open(path) as profile:
            return result_of_profile(profile)
    results = read(path)
    if number:
        if not 1 <= number <= len(results):
            raise Error(f"{path} holds {len(results)} answers; #{number} is none of them")
        return results[number - 1]
    if len(results) > 1:
        listed = "\n".join(f"  {path}#{i}: {each.short_setting}" for i, each in enumerate(results, 1))
        raise Error(f"{path} holds {len(results)} answers; say which:\n{listed}")
    return results[0]


def numbered(name: str) -> tuple[str, int | None]:
    """`file#3` as the file and 3."""
    path, _, number = name.rpartition("#")
    return (path, int(number)) if path and number.isdigit() else (name, None)
