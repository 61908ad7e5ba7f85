"""Configuration files of `poprun`: its options as one JSON object, read with a check of every field.

A file contains only options that describe a run, and no command: nothing in it is executed. The command line overrides
the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open, cannot_write
from tremula.formatting import plain
from tremula.launch.command_line import BadValueError, checked_number, value_of
from tremula.launch.options import BY_NAME, COUNT, FLAG, INDEX, OPTIONS, SWITCH, Option, Settings

_MAX_BYTES = 1 << 20
_MAX_TEXT = 100_000


def import_into(settings: Settings, path: Path) -> list[str]:
    """Apply the options of the file that the command line does not set. Returns the problems with the file."""
    shown = plain(str(path), 200, lines=False)
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as problem:
        return [f"--import-config: {shown} cannot be read: {problem.strerror}."]
    if len(data) > _MAX_BYTES:
        return [
            f"--import-config: {shown} is larger than {_MAX_BYTES} bytes, so it is not a poprun configuration."
        ]
    try:
        values = json.loads(data, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as problem:
        return [f"--import-config: {shown} is not valid JSON: {plain(str(problem), 200, lines=False)}."]
    if not isinstance(values, dict):
        return [
            f"--import-config: {shown} must contain a JSON object with options, not a {type(values).__name__}."
        ]
    problems = []
    for name, value in values.items():
        option = BY_NAME.get(name)
        if option is None or not option.kept:
            problems.append(
                f"{shown}: {plain(name, 60, lines=False)!r} is not an option of a configuration file."
            )
            continue
        try:
            taken = _checked(option, value)
        except BadValueError as problem:
            problems.append(f"{shown}: {name!r} {problem}.")
            continue
        if name not in settings.given:
            settings.put(option, taken, shown)
    return problems


def export(settings: Settings, path: Path) -> list[str]:
    """Write all options that a file may contain. Returns the reason if the file cannot be written."""
    shown = plain(str(path), 200, lines=False)
    if path.exists() and not settings.overwrite_config:
        return [f"--export-config: {shown} already exists; use --overwrite-config yes to replace it."]
    try:
        with atomic_open(path) as file:
            json.dump(as_json(settings), file, indent=1)
            file.write("\n")
    except (OSError, UnicodeError) as problem:
        if isinstance(problem, OSError):
            return [f"--export-config: {cannot_write(shown, problem)}"]
        return [f"--export-config: {shown} cannot be written: an option contains text that is not Unicode."]
    return []


def as_json(settings: Settings) -> dict[str, Any]:
    """The options of a run that have a value, by name."""
    values = {option.name: settings.get(option) for option in OPTIONS if option.kept}
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _checked(option: Option, value: Any) -> Any:
    if option.kind in (FLAG, SWITCH):
        if not isinstance(value, bool):
            raise BadValueError("takes true or false")
        return value
    if option.kind in (COUNT, INDEX):
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadValueError("takes a whole number")
        return checked_number(option, value)
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise BadValueError("takes a text")
    return value_of(option, value)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice")
    return found
