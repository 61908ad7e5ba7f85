"""A study as a JSON document: written whole or not at all, after every row, and checked when it is read.

A file that a run left behind is what the next one goes on from: rows whose basis is the same are taken over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tremula.atomic_files import atomic_open
from tremula.errors import Error
from tremula.scale.row import DataRate, HostRun, Layout, Measured, Row, ScalingStudy
from tremula.study.finding import Figure
from tremula.study.saved import read_document

FORMAT = "tremula scale"
FORMAT_VERSION = 1
#: characters of a text in a file
_LONGEST = 20_000

Made = TypeVar("Made")


def plain(study: ScalingStudy, *, complete: bool = True) -> dict[str, Any]:
    """For JSON."""
    return {"format": FORMAT, "version": FORMAT_VERSION, "complete": complete, "study": asdict(study)}


def save(study: ScalingStudy, path: Path, *, complete: bool = True) -> None:
    """Write it; the old file stays until the new one is complete.

    Raises:
        Error: the file cannot be written.
    """
    try:
        with atomic_open(path) as file:
            json.dump(plain(study, complete=complete), file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")
    except OSError as problem:
        raise Error(
            f"{path} cannot be written: {problem.strerror}. Choose another folder with --out."
        ) from None


def read(path: str | Path) -> ScalingStudy:
    """The study in a file.

    Raises:
        Error: there is none, or it is not one of ours.
    """
    data = read_document(path, FORMAT, FORMAT_VERSION, "a scaling study (`tremula scale` writes them)")
    try:
        return _sane(_made(ScalingStudy, data.get("study")))
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise Error(f"{path} is damaged: {str(problem)[:200]}. Delete it and make the study again.") from None


def _sane(study: ScalingStudy) -> ScalingStudy:
    """A study with numbers that can be reckoned with."""
    if any(row.ipus < 1 or row.hosts < 1 for row in study.rows):
        raise ValueError("a row has no IPU or no host")
    if study.data is not None and study.data.samples_per_second <= 0:
        raise ValueError("a host loads nothing")
    return study


_CLASSES = (ScalingStudy, Row, Layout, DataRate, HostRun, Measured, Figure)


def _made(kind: type[Made], data: Any) -> Made:
    """An object of one of our classes from its fields: all of them, no others, each of its type."""
    if type(data) is not dict:
        raise TypeError(f"{kind.__name__} is not an object")
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    if set(data) != set(names):
        raise ValueError(f"{kind.__name__} has other fields than this version writes")
    return kind(**{name: _value(hints[name], data[name]) for name in names})


def _value(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _CLASSES:
        return _made(kind, value)
    if kind is Any:
        return _anything(value)
    if origin is tuple:
        return tuple(_value(inner[0], each) for each in _of(list, value))
    if origin is Mapping:
        return {_value(inner[0], key): _value(inner[1], each) for key, each in _of(dict, value).items()}
    if type(None) in inner:
        rest = next(each for each in inner if each is not type(None))
        return None if value is None else _value(rest, value)
    if kind is float:
        number = float(_of((int, float), value))
        if not math.isfinite(number):
            raise ValueError(f"{number} is no figure")
        return number
    if kind is str and len(_of(str, value)) > _LONGEST:
        raise ValueError("a text is too long")
    return _of(kind, value)


def _of(kinds: Any, value: Any) -> Any:
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if type(value) not in allowed:
        raise TypeError(f"{str(value)[:40]!r} is not {' or '.join(kind.__name__ for kind in allowed)}")
    return value


def _anything(value: Any) -> Any:
    """Numbers, texts and lists of them."""
    if isinstance(value, list):
        return tuple(_anything(each) for each in value)
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise TypeError(f"{str(value)[:40]!r} is neither a number nor a text")
