"""Columns of an executable's archive: lists of different lengths as two arrays, arrays checked when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.checked_archive import Arrays
from tremula.checked_json import LONGEST_TEXT, BadValue
from tremula.frontends.poplar.graph.layout import Ints


class Writer:
    """Collects arrays under their names."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def put(self, name: str, values: Any) -> None:
        """A column of integers."""
        self.arrays[name] = np.asarray(values, dtype=np.int64).reshape(-1)

    def put_values(self, name: str, values: NDArray[Any]) -> None:
        """A column of numbers of any type."""
        self.arrays[name] = values.reshape(-1)

    def put_lists(self, name: str, lists: Iterable[Sequence[int] | Ints]) -> None:
        """A column of lists of integers."""
        parts = [np.asarray(each, dtype=np.int64).reshape(-1) for each in lists]
        self.put(f"{name}_values", np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
        self.put(f"{name}_ends", np.cumsum([len(each) for each in parts]))


class Reader:
    """Gives columns back, checked."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def numbers(
        self, name: str, low: int | None = None, high: int | None = None, *, count: int | None = None
    ) -> Ints:
        """A column of integers from `low` to `high`, not included."""
        found = self._arrays.get(name)
        if found is None:
            raise BadValue(f"it has no column {name}")
        if found.dtype != np.int64 or found.ndim != 1:
            raise BadValue(f"column {name} is not one of integers")
        if count is not None and len(found) != count:
            raise BadValue(f"column {name} has {len(found)} entries, not {count}")
        if len(found) and (
            (low is not None and found.min() < low) or (high is not None and found.max() >= high)
        ):
            raise BadValue(f"column {name} has numbers that are out of range")
        return found

    def values(
        self, name: str, dtype: np.dtype[Any] | None = None, *, count: int | None = None
    ) -> NDArray[Any]:
        """A column of numbers of a type, or of any type."""
        found = self._arrays.get(name)
        if found is None or found.ndim != 1 or found.dtype.kind not in "biuf" or found.dtype.itemsize > 8:
            raise BadValue(f"it has no column {name} of numbers")
        if dtype is not None and found.dtype != dtype:
            raise BadValue(f"column {name} is of type {found.dtype}, not {dtype}")
        if count is not None and len(found) != count:
            raise BadValue(f"column {name} has {len(found)} entries, not {count}")
        return found

    def lists(self, name: str, low: int | None = None, high: int | None = None) -> list[Ints]:
        """A column of lists of integers."""
        values = self.numbers(f"{name}_values", low, high)
        ends = self.numbers(f"{name}_ends", 0, len(values) + 1)
        if len(ends) and ((np.diff(ends) < 0).any() or ends[-1] != len(values)):
            raise BadValue(f"the lists of {name} overlap")
        return np.split(values, ends[:-1]) if len(ends) else []


def text(value: Any, what: str) -> str:
    """A text of a document."""
    if type(value) is not str or len(value) > LONGEST_TEXT:
        raise BadValue(f"{what} is {str(value)[:40]!r}, not a text")
    return value


def texts(value: Any, what: str, count: int | None = None) -> list[str]:
    """A list of texts of a document."""
    if type(value) is not list or (count is not None and len(value) != count):
        raise BadValue(f"{what} is not a list of the length that it should have")
    return [text(each, what) for each in value]


def whole(value: Any, what: str, low: int = 0, high: int = 1 << 62) -> int:
    """An integer of a document, from `low` to `high`, not included."""
    if type(value) is not int or not low <= value < high:
        raise BadValue(f"{what} is {str(value)[:40]!r}")
    return value


def flag(value: Any, what: str) -> bool:
    """A truth value of a document."""
    if type(value) is not bool:
        raise BadValue(f"{what} is {str(value)[:40]!r}, not true or false")
    return value


def item(values: Sequence[Any], place: Any, what: str) -> Any:
    """An entry of a list by a number in a document."""
    return values[whole(place, what, 0, len(values))]


def record(value: Any, what: str, keys: Sequence[str]) -> dict[str, Any]:
    """An object of a document with these keys."""
    if type(value) is not dict or set(value) != set(keys):
        raise BadValue(f"{what} is invalid")
    return value


def entries(value: Any, what: str) -> list[Any]:
    """A list of a document."""
    if type(value) is not list:
        raise BadValue(f"{what} is not a list")
    return value
