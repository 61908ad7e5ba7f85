"""Attributes of an op as Python values, converted when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts
from tremula.program.dtypes import ON_DEVICE


class Attributes(Mapping[str, Any]):
    """The attributes of a node; types by the device's names.

    Args:
        messages: the attributes as the graph has them.
    """

    __slots__ = ("_messages",)

    def __init__(self, messages: Mapping[str, Any]) -> None:
        self._messages = messages

    def __getitem__(self, name: str) -> Any:
        if name not in self._messages:
            raise KeyError(name)
        return _value(self._messages[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)


def facts_of(messages: Mapping[str, Any]) -> dict[str, Any]:
    """What ops of this package noted, by name."""
    found = {}
    for name in messages:
        if name.startswith(facts.PREFIX):
            found[name.removeprefix(facts.PREFIX)] = _value(messages[name])
    return found


def dtype_name(dtype: Any) -> str:
    """The device's name of a type; resources and the like count as whole numbers."""
    return ON_DEVICE.get(tf.dtypes.as_dtype(dtype).base_dtype.name, "int32")


def _value(message: Any) -> Any:
    kind = message.WhichOneof("value")
    if kind is None:
        return None
    if kind == "type":
        return dtype_name(message.type)
    if kind == "s":
        return message.s.decode(errors="replace")
    if kind == "shape":
        return tuple(dim.size for dim in message.shape.dim)
    if kind == "list":
        listed = message.list
        for field in ("i", "f", "b"):
            values = getattr(listed, field)
            if values:
                return list(values)
        return [each.decode(errors="replace") for each in listed.s]
    return getattr(message, kind)
