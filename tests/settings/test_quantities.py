"""Sizes and spans of time: what people write is read, and what is shown can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.settings.quantities import parse_size, parse_span, size_text, span_text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("17", 17),
        ("1k", 1024),
        ("2G", 2 << 30),
        ("1.5 MiB", 3 << 19),
        (" 4 GB ", 4 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize(
    "text", ["", "G", "-1", "1e3", "4X", "1 G B", "inf", "nan", "9999999999T", "٣G", "9" * 400]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="500M or 4G"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5h", 5400), ("30d", 2592000), ("2 W", 1209600)]
)
def test_spans(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1y", "9" * 400 + "d"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="12h or 30d"):
        parse_span(text)


@given(st.integers(0, 1 << 50))
def test_a_size_that_is_shown_is_the_right_one(count: int) -> None:
    assert parse_size(size_text(count)) == pytest.approx(count, rel=0.06)


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (5, "5 s"), (300, "5 min"), (90000, "25 h"), (864000, "10 days")]
)
def test_spans_are_shown_in_their_unit(seconds: float, text: str) -> None:
    assert span_text(seconds) == text
