"""Keys: the same for the same description, different for different ones, and safe as file names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.cache import keys
from tremula.cache.keys import key_of

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
PARTS = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3)
    ),
    max_size=4,
)


@given(PARTS)
def test_the_order_of_names_is_no_matter(parts: dict[str, Any]) -> None:
    backwards = dict(reversed(parts.items()))
    assert key_of(parts) == key_of(backwards)
    assert keys.check_key(key_of(parts))


@given(PARTS, PARTS)
def test_equal_keys_mean_equal_descriptions(one: dict[str, Any], other: dict[str, Any]) -> None:
    # repr tells 1 from True and 1.0, and NaN is itself
    same = _canonical(one) == _canonical(other)
    assert (key_of(one) == key_of(other)) == same


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return repr(value)


def test_values_of_different_kinds_have_different_keys() -> None:
    values: list[Any] = [None, "", "None", 0, 0.0, -0.0, False, "0", [], {}, [0], {"0": 0}, float("inf")]
    assert len({key_of({"value": value}) for value in values}) == len(values)


def test_what_is_no_plain_data_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"\['options'\]\[1\] is a set"):
        key_of({"options": [1, {2}]})
    with pytest.raises(TypeError, match="the name 1 is not a string"):
        key_of({"shapes": {1: 2}})
    with pytest.raises(TypeError, match="is a bytes"):
        key_of({"code": b""})


@pytest.mark.parametrize("bad", ["", "a" * 63, "A" * 64, "../" + "a" * 61, "a" * 64 + "\n", 3])
def test_nothing_but_a_key_becomes_a_file_name(bad: Any) -> None:
    with pytest.raises(ValueError, match="64 lowercase"):
        keys.file_name(bad)


def test_names_of_files() -> None:
    key = key_of({})
    assert keys.key_in(keys.file_name(key)) == key
    assert keys.key_in("1234567890.popef") is None
    assert keys.key_in(f"{key}.popef\n") is None
