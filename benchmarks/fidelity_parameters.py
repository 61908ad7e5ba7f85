"""Parameters of cases: which values each may have."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kind: a test for its values, and what that test asks for in words."""

    says: str
    accepts: Callable[[Any], bool]
    required: bool = False


def is_whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_list_of(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The test for a list of values that pass a test."""
    return lambda value: isinstance(value, list) and all(test(each) for each in value)


def whole(required: bool = False) -> Parameter:
    """A count."""
    return Parameter("a whole number of at least 0", lambda v: is_whole(v) and v >= 0, required)


def number(required: bool = False) -> Parameter:
    """Any number."""
    return Parameter("a number", is_number, required)


def truth() -> Parameter:
    """True or false."""
    return Parameter("true or false", lambda v: isinstance(v, bool))


def word(*choices: str, required: bool = False) -> Parameter:
    """One of some words, or any."""
    if not choices:
        return Parameter("a word", lambda v: isinstance(v, str), required)
    return Parameter(f"one of {', '.join(choices)}", lambda v: v in choices, required)


def extents(required: bool = False) -> Parameter:
    """One whole number per dimension."""
    return Parameter("a list of whole numbers", is_list_of(is_whole), required)


def words() -> Parameter:
    """Names."""
    return Parameter("a list of words", is_list_of(lambda v: isinstance(v, str)))


def table() -> Parameter:
    """Nested values."""
    return Parameter("a table", lambda v: isinstance(v, dict))


def _of_type(hint: Any, required: bool) -> Parameter:
    """The parameter for a field of a work description."""
    if isinstance(hint, types.UnionType):
        kept = [each for each in typing.get_args(hint) if each is not type(None)]
        return _of_type(kept[0], required)
    if hint is bool:
        return truth()
    if hint is int:
        return whole(required)
    if hint is float:
        return number(required)
    if hint is str:
        return word(required=required)
    if typing.get_origin(hint) is tuple and typing.get_origin(typing.get_args(hint)[0]) is tuple:
        return Parameter("a list of pairs", is_list_of(is_list_of(is_whole)), required)
    return extents(required)


def work_parameters(description: type, without: tuple[str, ...] = ()) -> dict[str, Parameter]:
    """The fields of a work description as parameters."""
    hints = typing.get_type_hints(description)
    return {
        each.name: _of_type(hints[each.name], each.default is dataclasses.MISSING)
        for each in dataclasses.fields(description)
        if each.name not in without
    }
