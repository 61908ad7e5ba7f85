"""JSON documents that are checked when they are read: format and version first, then every field against its type.

A dataclass is written as an object of its fields and read back from exactly these. Nothing in a file is trusted:
types, sizes, finite numbers and unknown fields are checked before an object is made.
"""

from __future__ import annotations

import enum
import functools
import json
import math
import os
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from tremula.atomic_files import atomic_open, cannot_write
from tremula.errors import Error

#: more bytes than this is not one of our documents
LARGEST_BYTES = 64 * 2**20
#: characters of one text
LONGEST_TEXT = 20_000

Made = TypeVar("Made")


class BadValue(ValueError):
    """A value that does not fit its type; the text says where and why."""


def write_document(path: str | Path, kind: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a document that says what it is; the old file stays until the new one is complete.

    Raises:
        Error: the file cannot be written.
    """
    try:
        with atomic_open(Path(path)) as file:
            document = {"format": kind, "version": version, **content}
            json.dump(document, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")
    except OSError as problem:
        raise Error(cannot_write(path, problem)) from None


def read_document(path: str | Path, kind: str, version: int, what: str) -> dict[str, Any]:
    """The content of a document, not yet checked beyond format and version.

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


def decode(kind: type[Made], data: Any, *, lenient: bool = False) -> Made:
    """An object of the dataclass `kind` from JSON data.

    Args:
        kind: a dataclass whose fields are numbers, texts, enums, literals, tuples, mappings or dataclasses.
        data: what `json.loads` gave.
        lenient: missing fields take their defaults and unknown ones are ignored, as in files of other versions.

    Raises:
        BadValue: a field is missing, unknown or of another type.
    """
    try:
        made: Made = _value(kind, data, kind.__name__, lenient)
    except RecursionError:
        raise BadValue(f"{kind.__name__} is nested too deeply") from None
    return made


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _object(kind: type, data: Any, where: str, lenient: bool) -> Any:
    given = _of(data, where, dict)
    required = {
        each.name
        for each in fields(kind)
        if each.init
        and not (lenient and (each.default is not MISSING or each.default_factory is not MISSING))
    }
    known = {each.name for each in fields(kind) if each.init}
    if missing := sorted(required - set(given)):
        raise BadValue(f"{where} lacks {', '.join(missing[:5])}")
    if not lenient and (unknown := sorted(str(name)[:40] for name in set(given) - known)):
        raise BadValue(f"{where} has unknown fields: {', '.join(unknown[:5])}")
    hints = _hints(kind)
    return kind(
        **{
            name: _value(hints[name], value, f"{where}.{name}", lenient)
            for name, value in given.items()
            if name in known
        }
    )


def _value(kind: Any, value: Any, where: str, lenient: bool) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return _plain(kind, value, where, lenient)
    if origin is Literal:
        if value not in inner or type(value) not in {type(each) for each in inner}:
            raise BadValue(f"{where} is {str(value)[:40]!r}, not one of {', '.join(map(str, inner))}")
        return value
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        items = _of(value, where, list)
        if len(items) != len(inner):
            raise BadValue(f"{where} has {len(items)} items, not {len(inner)}")
        return tuple(_value(each, item, where, lenient) for each, item in zip(inner, items, strict=True))
    if origin in (tuple, list, Sequence, frozenset):
        made = (_value(inner[0], item, where, lenient) for item in _of(value, where, list))
        return {tuple: tuple, list: list, Sequence: tuple, frozenset: frozenset}[origin](made)
    if origin in (dict, Mapping):
        return {
            _key(inner[0], key, where): _value(inner[1], item, f"{where}[{str(key)[:40]}]", lenient)
            for key, item in _of(value, where, dict).items()
        }
    if origin in (typing.Union, types.UnionType):
        return _one_of(inner, value, where, lenient)
    raise TypeError(f"{kind} cannot be read from JSON")


def _one_of(kinds: Collection[Any], value: Any, where: str, lenient: bool) -> Any:
    """The first alternative that the value fits."""
    problem = BadValue(f"{where} fits none of its types")
    for kind in kinds:
        if kind is type(None):
            if value is None:
                return None
            continue
        try:
            return _value(kind, value, where, lenient)
        except BadValue as found:
            problem = found
    raise problem


def _plain(kind: Any, value: Any, where: str, lenient: bool) -> Any:
    if kind is Any:
        return _scalar(value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value, where, lenient)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            raise BadValue(f"{where} is {str(value)[:40]!r}, which is no {kind.__name__}") from None
    if kind is float:
        try:
            number = float(_of(value, where, int, float))
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise BadValue(f"{where} is {number}, which is not a figure")
        return number
    if kind is str and len(_of(value, where, str)) > LONGEST_TEXT:
        raise BadValue(f"{where} has more than {LONGEST_TEXT:,} characters")
    return _of(value, where, kind)


def _key(kind: Any, key: str, where: str) -> Any:
    """Keys of JSON objects are texts; those of mappings by number are numbers."""
    if kind is not int:
        return _value(kind, key, where, False)
    try:
        return int(key)
    except ValueError:
        raise BadValue(f"{where} has the key {key[:40]!r}, which is not a number") from None


def _scalar(value: Any, where: str) -> Any:
    """Numbers, texts and lists of them."""
    if isinstance(value, list):
        return tuple(_scalar(item, where) for item in value)
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise BadValue(f"{where} is neither a number nor a text")


def _of(value: Any, where: str, *kinds: type) -> Any:
    if type(value) not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise BadValue(f"{where} is {str(value)[:40]!r}, not {wanted}")
    return value
