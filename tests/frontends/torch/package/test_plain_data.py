"""Plain data survives a journey through JSON exactly, and nothing but plain data can come out of it."""

from __future__ import annotations

import collections
import json
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.plain_data import Fields, NotData, decode, encode

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([torch.float16, torch.int32, torch.bool, torch.Size([2, 0, 3])])
)
_KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
_DATA = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(_KEYS, inner)
        | st.dictionaries(_KEYS, inner).map(collections.OrderedDict)
        | st.frozensets(_KEYS)
        | st.sets(_KEYS)
    ),
    max_leaves=20,
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(
            st.sampled_from(["tuple", "dict", "ordered", "set", "frozenset", "float", "dtype", "size"]),
            inner,
            max_size=1,
        )
    ),
    max_leaves=20,
)


def _same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            _same(a, b)
            for x, y in zip(one.items(), other.items(), strict=True)
            for a, b in zip(x, y, strict=True)
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


@given(_DATA)
def test_data_comes_back_as_it_was(value: Any) -> None:
    text = json.dumps(encode(value), allow_nan=False)
    assert _same(decode(json.loads(text)), value)


def test_nan_comes_back() -> None:
    assert math.isnan(decode(encode(math.nan)))


@given(_JSON)
def test_any_json_gives_data_or_is_refused(data: Any) -> None:
    try:
        value = decode(data)
    except BadData:
        return
    encode(value)  # it was data


@pytest.mark.parametrize("value", [object(), len, type, torch.nn.Linear(1, 1), lambda: 0, 1j, b"x"])
def test_what_is_not_data_is_named(value: Any) -> None:
    with pytest.raises(NotData, match=r"config\['inner'\]\[1\] is a"):
        encode({"inner": [1, value]}, where="config")


def test_a_list_that_contains_itself_is_not_data() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotData):
        encode(loop)


def test_subclasses_are_not_taken_for_their_base() -> None:
    class Special(dict):  # type: ignore[type-arg]
        pass

    with pytest.raises(NotData):
        encode(Special())


def test_fields_that_nobody_expects_are_refused() -> None:
    fields = Fields({"a": 1, "b": 2}, "the thing")
    assert fields.take("a", int) == 1
    with pytest.raises(BadData, match="the thing has unexpected fields: 'b'"):
        fields.done()
    with pytest.raises(BadData, match="b of the thing is a int"):
        fields.take("b", str)
    with pytest.raises(BadData, match="the thing lacks c"):
        fields.take("c")
    with pytest.raises(BadData, match="flag of x is a bool"):
        Fields({"flag": True}, "x").take("flag", int)
