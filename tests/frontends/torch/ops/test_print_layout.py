"""Layout of printed tensors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.ops.print_layout import Layout

CURLY = {"separator": " ", "open_bracket": "{", "close_bracket": "}"}


def test_rows_are_indented_by_depth() -> None:
    tensor = torch.tensor([[1.5, 2.25], [3.0, 4.0]])
    assert Layout(digits=8, **CURLY).render(tensor) == "{\n {1.5000000 2.2500000}\n {3.0000000 4.0000000}\n}"


def test_deeper_nesting() -> None:
    assert Layout(**CURLY).render(torch.ones(2, 1, 2, dtype=torch.int32)) == (
        "{\n {\n  {1 1}\n }\n {\n  {1 1}\n }\n}"
    )


def test_long_rows_are_broken_after_the_separator() -> None:
    style = Layout(max_line_width=15, digits=8, float_format="scientific", separator=",")
    assert style.render(torch.tensor([[1.5, 2.5]])) == "(\n (1.5000000e+00,\n   2.5000000e+00)\n)"


def test_width_zero_never_breaks() -> None:
    assert "\n" not in Layout(max_line_width=0).render(torch.arange(300.0))


def test_scalar_and_empty() -> None:
    assert Layout().render(torch.tensor(3)) == "3"
    assert Layout().render(torch.empty(0)) == "()"


def test_long_tensors_are_shortened_to_their_edges() -> None:
    style = Layout(summarise_threshold=10, edge_items=2, separator=" ")
    assert style.render(torch.arange(20)) == "( 0  1 ... 18 19)"
    assert style.render(torch.arange(10)) == "(0 1 2 3 4 5 6 7 8 9)"
    lines = style.render(torch.arange(60).reshape(20, 3)).splitlines()
    assert [line.strip() for line in lines] == [
        "(",
        "( 0  1  2)",
        "( 3  4  5)",
        "...",
        "(54 55 56)",
        "(57 58 59)",
        ")",
    ]


def test_threshold_zero_never_shortens() -> None:
    assert "..." not in Layout(summarise_threshold=0).render(torch.zeros(5000))


@pytest.mark.parametrize(
    ("values", "float_format", "text"),
    [
        ([100.0, -1.0], "fixed", "(100.0,  -1.0)"),
        ([1e6, 1.0], "auto", "(1.000e+06, 1.000e+00)"),
        ([1e-6, 1.0], "auto", "(1.000e-06, 1.000e+00)"),
        ([0.0, 12.5], "auto", "( 0.00, 12.50)"),
        ([1e6, 0.5], "none", "(1e+06, 0.5)"),
        ([float("nan"), float("inf")], "auto", "(nan, inf)"),
    ],
)
def test_number_formats(values: list[float], float_format: str, text: str) -> None:
    assert Layout(float_format=float_format).render(torch.tensor(values)) == text


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20), st.integers(2, 8))
def test_columns_are_aligned_and_values_readable(values: list[float], digits: int) -> None:
    text = Layout(digits=digits, max_line_width=0, separator=";").render(torch.tensor(values))
    parts = text.strip("()").split(";")
    assert len({len(part) for part in parts}) == 1
    for part, value in zip(parts, values, strict=True):
        # the digits after the first of the largest value bound the absolute error
        assert abs(float(part) - value) <= 10 ** (5 - digits)
