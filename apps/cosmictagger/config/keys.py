"""How a key of the configuration is declared, and how a given value becomes one of its type.

A key is a field of a dataclass with a meaning and, for numbers, bounds. Values come as text from the command
line or as plain values from YAML; both are checked against the declared type, and nothing is guessed.
"""

from __future__ import annotations

import difflib
import math
import types
import typing
from collections.abc import Iterable
from dataclasses import MISSING, Field, field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from tremula import formatting


class ConfigError(ValueError):
    """A configuration that cannot be used; the message is meant for the user."""

    def __init__(self, text: str) -> None:
        super().__init__(formatting.plain(text))


_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_NOTHING = ("", "null", "none", "~")


def key(default: Any, meaning: str, *, low: float | None = None, high: float | None = None) -> Any:
    """A field with a default, what it means, and the smallest and greatest value it may have."""
    metadata = {"meaning": meaning, "low": low, "high": high}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@cache
def types_of(group: type) -> dict[str, Any]:
    """The type of each key of a group."""
    return typing.get_type_hints(group)


def default_of(declared: Field[Any]) -> Any:
    """The default of a key."""
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return None if declared.default is MISSING else declared.default


def converted(name: str, value: Any, kind: Any, declared: Field[Any]) -> Any:
    """A value as one of the declared type.

    Raises:
        ConfigError: it is none, or out of bounds.
    """
    result = _as(name, value, kind)
    low, high = declared.metadata.get("low"), declared.metadata.get("high")
    if result is not None and (low is not None or high is not None):
        for number in result if isinstance(result, tuple) else (result,):
            if (low is not None and number < low) or (high is not None and number > high):
                raise ConfigError(f"{name}={show(value)} must be {_range(low, high)}.")
    return result


def _as(name: str, value: Any, kind: Any) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (plain,) = [each for each in typing.get_args(kind) if each is not type(None)]
        if value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING):
            return None
        return _as(name, value, plain)
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        if isinstance(value, str):
            value = [part for part in value.strip("[]() ").split(",") if part.strip()]
        elif not isinstance(value, list | tuple):
            value = [value]
        return tuple(_as(name, each.strip() if isinstance(each, str) else each, item) for each in value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(name, value, kind)
    return _plain(name, value, kind)


def _member(name: str, value: Any, kind: type[Enum]) -> Enum:
    members = list(kind)
    text = str(value).strip()
    for member in members:
        if text.lower() in (
            str(member.value).lower(),
            member.name.lower(),
            str(getattr(member, "number", "-")),
        ):
            return member
    raise ConfigError(
        f"{name}={show(value)} is none of {', '.join(str(each.value) for each in members)}."
        + did_you_mean(text, [str(each.value) for each in members])
    )


def _plain(name: str, value: Any, kind: type) -> Any:
    text = value.strip() if isinstance(value, str) else value
    if kind is bool:
        if isinstance(text, bool):
            return text
        if str(text).lower() in _TRUE:
            return True
        if str(text).lower() in _FALSE:
            return False
        raise ConfigError(f"{name}={show(value)} must be true or false.")
    if kind is int:
        try:
            if isinstance(text, bool) or (isinstance(text, float) and text != int(text)):
                raise ValueError
            return int(text)
        except (ValueError, TypeError, OverflowError):
            raise ConfigError(f"{name}={show(value)} must be a whole number.") from None
    if kind is float:
        try:
            if isinstance(text, bool):
                raise ValueError
            number = float(text)
        except (ValueError, TypeError):
            number = math.nan
        if not math.isfinite(number):
            raise ConfigError(f"{name}={show(value)} must be a number.")
        return number
    if kind is str:
        if value is None:
            return ""
        if isinstance(value, dict | list):
            raise ConfigError(f"{name} must be a text, not {show(value)}.")
        text = str(value)
        if not text.isprintable() or len(text) > 4096:
            raise ConfigError(f"{name} must be a printable text of at most 4096 characters.")
        return text
    raise TypeError(f"{name} is declared with a type that has no rule: {kind}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ " Did you mean ...?" with the nearest of what is known, or nothing if nothing is near."""
    by_folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.5)
    if not near:  # a.b.c for a.c, or only the last part of a key
        tails = {each.rsplit(".", 1)[-1]: each for each in by_folded}
        last = difflib.get_close_matches(word.lower().rsplit(".", 1)[-1], tails, n=1, cutoff=0.7)
        near = [tails[each] for each in last]
    return f" Did you mean {by_folded[near[0]]}?" if near else ""


def show(value: Any) -> str:
    """A value as the user wrote it, bounded and printable."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= 80 else text[:77] + "..."


def _range(low: float | None, high: float | None) -> str:
    if high is None:
        return f"{low} or more"
    return f"{high} at most" if low is None else f"from {low} to {high}"


def plain(value: Any) -> Any:
    """Dataclasses, enums and tuples as what JSON and YAML know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value
