"""Answers in a file, for `tremula compare`: JSON, written whole or not at all, checked when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open
from tremula.errors import Error
from tremula.study.finding import Finding, from_plain, to_plain

FORMAT = "tremula estimate"
FORMAT_VERSION = 1
#: such a file is small; more than this is something else
LARGEST_BYTES = 64 * 2**20


def save(findings: Sequence[Finding], path: str | Path) -> None:
    """Write `findings` to `path`; the old file stays until the new one is complete.

    Raises:
        Error: the file cannot be written.
    """
    data = {"format": FORMAT, "version": FORMAT_VERSION, "findings": [to_plain(each) for each in findings]}
    try:
        with atomic_open(Path(path)) as file:
            json.dump(data, file, indent=1, ensure_ascii=False)
            file.write("\n")
    except OSError as problem:
        raise Error(f"{path} cannot be written: {problem.strerror}. Choose another place.") from None


def is_saved(path: str | Path) -> bool:
    """Whether `path` looks like a file of answers, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return FORMAT.encode() in file.read(100)
    except OSError:
        return False


def read(path: str | Path) -> list[Finding]:
    """The findings in a file.

    Raises:
        Error: there is none, or it is not one of ours.
    """
    what = "a file of saved estimates (`tremula estimate ... --save FILE` writes them)"
    findings = read_document(path, FORMAT, FORMAT_VERSION, what).get("findings")
    if not isinstance(findings, list) or not findings:
        raise Error(f"{path} holds no estimates.")
    return [from_plain(each, str(path)) for each in findings]


def read_document(path: str | Path, kind: str, version: int, what: str) -> dict[str, Any]:
    """A JSON file that says of itself what it is; what it holds is the caller's to check.

    Args:
        path: the file.
        kind: its format.
        version: of that format.
        what: what it should be, in words.

    Raises:
        Error: there is none, or it is another file.
    """
    try:
        size = os.path.getsize(path)
        if size > LARGEST_BYTES:
            raise Error(f"{path} has {size:,} bytes, too many for {what}. Is it another file?")
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise Error(f"{path} cannot be read: {problem.strerror}.") from None
    except (ValueError, RecursionError):
        raise Error(f"{path} is not {what}: it is not JSON, or cut off.") from None
    if not isinstance(data, dict) or data.get("format") != kind:
        raise Error(f"{path} is not {what}.")
    if data.get("version") != version:
        raise Error(
            f"{path} has version {str(data.get('version'))[:20]} of the file format; this version of Tremula reads "
            f"version {version}. Make it again."
        )
    return data
