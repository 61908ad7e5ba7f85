"""Lists of reports behave as Python's lists do when they are read, and say little when they are long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pva.sequences import Items, Numbers, PrintLength
from pva.tables import Table
from tremula.errors import Error

indexes = st.integers(-8, 8)
slices = st.builds(
    slice,
    st.none() | indexes,
    st.none() | indexes,
    st.none() | st.integers(-3, 3).filter(lambda step: step != 0),
)
values = st.lists(st.integers(-100, 100), max_size=6)


def _items(given: list[int], *, walk: bool = False) -> Items[int]:
    def many(chosen: object) -> object:
        return iter([given[number] for number in np.asarray(chosen).tolist()])

    return Items(range(len(given)), given.__getitem__, PrintLength(), many if walk else None)  # type: ignore[arg-type]


@given(values, slices, slices, st.booleans())
def test_slices_of_slices_are_those_of_a_list(given: list[int], one: slice, other: slice, walk: bool) -> None:
    items, numbers = _items(given, walk=walk), Numbers(np.asarray(given, dtype=np.int64))
    assert list(items[one][other]) == given[one][other]
    assert list(numbers[one][other]) == given[one][other]
    assert items[one] == given[one]
    assert len(items[one]) == len(given[one])


@given(values, indexes)
def test_indexes_count_from_both_ends(given: list[int], index: int) -> None:
    items, numbers = _items(given), Numbers(np.asarray(given, dtype=np.int64))
    if -len(given) <= index < len(given):
        assert items[index] == numbers[index] == given[index]
    else:
        with pytest.raises(IndexError, match="out of range"):
            items[index]
        with pytest.raises(IndexError, match="out of range"):
            numbers[index]


@given(values)
def test_what_lists_can_do_when_they_are_read(given: list[int]) -> None:
    items = _items(given)
    assert bool(items) is bool(given)
    assert list(reversed(items)) == given[::-1]
    more = [7]
    assert items + more == [*given, 7]
    assert items.count(3) == given.count(3)
    assert (5 in items) is (5 in given)
    assert sorted(items) == sorted(given)
    assert items != [*given, 1]


def test_items_are_made_when_they_are_looked_at() -> None:
    made: list[int] = []
    items = Items(range(10**9), lambda number: made.append(number) or number, PrintLength())
    part = items[-5:][1:3]
    assert len(items) == 10**9
    assert made == []
    assert list(part) == [10**9 - 4, 10**9 - 3]
    assert made == [10**9 - 4, 10**9 - 3]


@given(st.integers(0, 50), st.integers(0, 12))
def test_texts_are_bounded(count: int, shown: int) -> None:
    length = PrintLength()
    items = Items(range(count), lambda number: f"item{number}", length)
    length.items = shown
    text = repr(items)
    assert text.count("item") == min(count, shown)
    assert (f"... {count - shown} more" in text) is (count > shown)


def test_numbers_are_arrays_for_numpy_and_python_numbers_for_others() -> None:
    numbers = Numbers(np.asarray([3, 1, 2], dtype=np.int64))
    assert max(numbers) == 3
    assert type(numbers[0]) is int
    assert np.array(numbers, dtype=np.uint64).dtype == np.uint64
    assert np.sum(numbers) == 6
    with pytest.raises(ValueError, match="read-only"):
        numbers.array[0] = 5


@given(values, slices)
def test_columns_of_a_slice_are_those_of_its_items(given: list[int], part: slice) -> None:
    table = Table(
        range(len(given)),
        given.__getitem__,
        PrintLength(),
        {"value": lambda: np.asarray(given, dtype=np.int64), "text": lambda: [str(each) for each in given]},
    )
    columns = table[part].to_numpy()
    assert columns["value"].tolist() == list(table[part])
    assert columns["text"].tolist() == [str(each) for each in table[part]]
    with pytest.raises(Error, match="Unknown column 'other'; the columns are value, text"):
        table.to_numpy("other")
