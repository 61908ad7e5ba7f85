"""Values into the file's form and back."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.profile import model
from tremula.profile.rows import fault, packed, to_file, unpacked
from tremula.profile.schema import MAX_TEXT, TABLES


@given(st.lists(st.integers(-(2**62), 2**62), max_size=200))
def test_arrays_come_back(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert unpacked(packed(array), len(values)).tolist() == values


@pytest.mark.parametrize(
    ("blob", "count"),
    [
        (zlib.compress(bytes(8 << 20)), 4),  # a bomb: more than it says
        (zlib.compress(bytes(16)), 4),
        (zlib.compress(bytes(32)) + b"more", 4),
        (zlib.compress(bytes(32))[:-3], 4),
        (b"", 1),
        (b"no", 1),
        (zlib.compress(b""), -1),
        (zlib.compress(b""), 2**40),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(blob: bytes, count: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the reader says more
        unpacked(blob, count)


@given(
    st.text(max_size=50), st.floats(allow_nan=False, allow_infinity=False, min_value=-1e29, max_value=1e29)
)
def test_what_is_written_passes_the_readers_check(name: str, value: float) -> None:
    table = TABLES["figures"]
    stored = to_file(table, model.Figure(name, value, "", value, value, ""))
    assert fault(table, stored) == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_figures_that_are_none_are_not_written(value: float) -> None:
    with pytest.raises(Error, match="cycles is"):
        to_file(TABLES["breakdown"], model.Part("compute", value))


def test_long_texts_are_cut_and_lone_surrogates_replaced() -> None:
    stored = to_file(TABLES["breakdown"], model.Part("x" * 10_000, 1))
    assert stored[0] == "x" * (MAX_TEXT - 1) + "…"
    assert to_file(TABLES["breakdown"], model.Part("a\ud800b", 1))[0] == "a?b"


@pytest.mark.parametrize(
    "values", [(1, 2.0), ("compute", 2), ("compute", None), ("x" * 5_000, 1.0), ("compute", float("nan"))]
)
def test_wrong_values_are_named(values: tuple[object, object]) -> None:
    assert fault(TABLES["breakdown"], values)
