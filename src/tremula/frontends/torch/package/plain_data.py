"""Plain Python data as JSON and back, exactly: tuples stay tuples, infinities and dtypes survive.

What JSON has no word for becomes an object with a single key, the tag. Callers add tags of their own, for
tensors, enumerations or graph nodes. Reading builds values of known types only and calls nothing else.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tremula.frontends.torch.package.container import BadData

#: makes a tagged object of something that is not plain data, or None if it does not know it either
Other = Callable[[Any], Any]
#: tag -> what makes the value of the payload
Tags = Mapping[str, Callable[[Any], Any]]

DTYPES = {name: dtype for name, dtype in vars(torch).items() if isinstance(dtype, torch.dtype)}
_DEPTH_LIMIT = 60
_MOST_ELEMENTS = 1 << 40


class NotData(Exception):
    """A value that cannot be written down; says where it is and of which type."""

    def __init__(self, where: str, value: object) -> None:
        kind = type(value)
        super().__init__(f"{where} is a {kind.__module__}.{kind.__qualname__}")


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def encode(value: Any, other: Other | None = None, where: str = "the value", depth: int = 0) -> Any:
    """`value` as JSON data.

    Raises NotData if it is, or holds, something that neither this function nor `other` knows.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if depth > _DEPTH_LIMIT:
        raise NotData(where, value)

    def inner(values: Any) -> list[Any]:
        return [encode(item, other, f"{where}[{index}]", depth + 1) for index, item in enumerate(values)]

    def pairs(values: Mapping[Any, Any]) -> list[Any]:
        return [
            [
                encode(key, other, f"a key of {where}", depth + 1),
                encode(item, other, f"{where}[{key!r}]", depth + 1),
            ]
            for key, item in values.items()
        ]

    kind = type(value)
    if kind is list:
        return inner(value)
    if kind is tuple:
        return {"tuple": inner(value)}
    if kind is torch.Size:
        return {"size": inner(value)}
    if kind is dict:
        return {"dict": pairs(value)}
    if kind is collections.OrderedDict:
        return {"ordered": pairs(value)}
    if kind is set or kind is frozenset:
        return {kind.__name__: inner(sorted(value, key=repr))}
    tagged = None if other is None else other(value)
    if tagged is None:
        raise NotData(where, value)
    return tagged


def decode(data: Any, tags: Tags | None = None, depth: int = 0) -> Any:
    """What `encode` was given; raises BadData if no `encode` made this."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if depth > 2 * _DEPTH_LIMIT:
        raise BadData("its data is nested too deeply")
    if isinstance(data, list):
        return [decode(item, tags, depth + 1) for item in data]
    if not isinstance(data, dict) or len(data) != 1:
        raise BadData("it contains an object that is not tagged data")
    ((tag, payload),) = data.items()
    if tags is not None and tag in tags:
        return tags[tag](payload)
    reader = _READERS.get(tag)
    if reader is None:
        raise BadData(f"it contains data of the unknown kind {tag[:80]!r}")
    return reader(payload, tags, depth + 1)


def _read_float(payload: Any, tags: Tags | None, depth: int) -> float:
    if payload not in ("inf", "-inf", "nan"):
        raise BadData("it contains a malformed number")
    return float(payload)


def read_dtype(payload: Any) -> torch.dtype:
    """The dtype of that name."""
    dtype = DTYPES.get(payload) if isinstance(payload, str) else None
    if dtype is None:
        raise BadData(f"it names the unknown dtype {str(payload)[:80]!r}")
    return dtype


def _items(payload: Any, tags: Tags | None, depth: int) -> list[Any]:
    if not isinstance(payload, list):
        raise BadData("it contains a malformed container")
    return [decode(item, tags, depth) for item in payload]


def _pairs(payload: Any, tags: Tags | None, depth: int) -> list[tuple[Any, Any]]:
    if not isinstance(payload, list):
        raise BadData("it contains a malformed dictionary")
    pairs = []
    for pair in payload:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadData("it contains a malformed dictionary")
        key, value = (decode(item, tags, depth) for item in pair)
        _check_hashable(key)
        pairs.append((key, value))
    return pairs


def _check_hashable(key: Any) -> None:
    try:
        hash(key)
    except TypeError:
        raise BadData("it contains a dictionary or set with an invalid key") from None


def _set(payload: Any, tags: Tags | None, depth: int) -> set[Any]:
    items = _items(payload, tags, depth)
    for item in items:
        _check_hashable(item)
    return set(items)


def _size(payload: Any, tags: Tags | None, depth: int) -> torch.Size:
    return torch.Size(read_shape(payload))


def read_shape(payload: Any) -> tuple[int, ...]:
    """A list of extents."""
    if not isinstance(payload, list) or not all(
        type(extent) is int and 0 <= extent < 1 << 48 for extent in payload
    ):
        raise BadData("it contains a malformed shape")
    if math.prod(payload) > _MOST_ELEMENTS:
        raise BadData(f"it contains a tensor of {math.prod(payload):.2g} elements, more than any program has")
    return tuple(payload)


_READERS: dict[str, Callable[[Any, Tags | None, int], Any]] = {
    "float": _read_float,
    "dtype": lambda payload, tags, depth: read_dtype(payload),
    "tuple": lambda payload, tags, depth: tuple(_items(payload, tags, depth)),
    "size": _size,
    "dict": lambda payload, tags, depth: dict(_pairs(payload, tags, depth)),
    "ordered": lambda payload, tags, depth: collections.OrderedDict(_pairs(payload, tags, depth)),
    "set": _set,
    "frozenset": lambda payload, tags, depth: frozenset(_set(payload, tags, depth)),
}


class Fields:
    """The fields of a JSON object, each taken once and of a known type; nothing may be left over."""

    def __init__(self, data: Any, what: str) -> None:
        if not isinstance(data, dict):
            raise BadData(f"{what} is malformed")
        self._left = dict(data)
        self._what = what

    def take(self, name: str, *kinds: type) -> Any:
        """The field `name`, which must be of one of the types `kinds` (any, if none is given)."""
        if name not in self._left:
            raise BadData(f"{self._what} lacks {name}")
        value = self._left.pop(name)
        if kinds and type(value) not in kinds:
            raise BadData(f"{name} of {self._what} is a {type(value).__name__}")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.take(name, list)
        if not all(type(value) is str for value in values):
            raise BadData(f"{name} of {self._what} is not a list of names")
        return tuple(values)

    def done(self) -> None:
        """Refuse fields that were not taken."""
        if self._left:
            raise BadData(
                f"{self._what} has unexpected fields: {', '.join(sorted(map(repr, self._left)))[:200]}"
            )
