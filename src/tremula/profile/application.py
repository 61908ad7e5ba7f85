"""What a framework and an application say about a run, in JSON files beside its profile."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open, cannot_write
from tremula.errors import Error
from tremula.untrusted_sqlite import without_waiting

#: name of a part -> its file
FILES: Mapping[str, str] = {"framework": "framework.json", "app": "app.json"}
_MOST_BYTES = 1 << 20
_DEEPEST = 32


def read_application(folder: Path) -> dict[str, Any]:
    """The JSON of each file that is there, by the name of the part; raises Error if one is not JSON or too large."""
    found: dict[str, Any] = {}
    for part, name in FILES.items():
        path = folder / name
        try:
            with open(path, "rb", opener=without_waiting) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise _bad(path, "it is not a regular file")
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise _bad(path, problem.strerror or str(problem)) from None
        if len(data) > _MOST_BYTES:
            raise _bad(path, f"it has more than {_MOST_BYTES:,} bytes")
        try:
            value = json.loads(data.decode("utf-8"), parse_constant=_no_number)
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # no lone surrogates
        except (ValueError, RecursionError):
            raise _bad(path, "it is not JSON") from None
        if _depth(value) > _DEEPEST:
            raise _bad(path, "it is nested too deeply")
        found[part] = value
    return found


def write_framework(folder: Path, content: Mapping[str, Any]) -> None:
    """Write what a framework says about the run; raises Error if that cannot be done."""
    path = folder / FILES["framework"]
    try:
        with atomic_open(path) as file:
            json.dump(content, file, indent=1, ensure_ascii=True, allow_nan=False, default=str)
            file.write("\n")
    except OSError as problem:
        raise Error(cannot_write(path, problem), type="profile_error") from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


def _bad(path: Path, what: str) -> Error:
    return Error(f"{path} cannot be read: {what}. Remove it, or write it again.", type="profile_error")
