"""Ranges of figures are those of their bands, also where the model is biased."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tremula.estimate.bands import Band
from tremula.estimate.figures import Banded, Figure

_POSITIVE = st.floats(1e-9, 1e12)
_SHARES = st.floats(0.01, 100.0)


@given(_POSITIVE, _SHARES, _SHARES)
def test_the_range_of_a_band_has_the_value_unless_the_model_is_biased(
    value: float, one: float, other: float
) -> None:
    band = Band(min(one, other), max(one, other), 5)
    for each in (band, band.inverse):
        low, high = each.around(value)
        assert low <= high
        assert (low <= value <= high) == (not each.bias)
        assert ("published figures are" in str(each)) == bool(each.bias)


@given(_POSITIVE, _POSITIVE, _POSITIVE, _SHARES)
def test_a_figure_in_another_unit_has_the_same_range(
    value: float, one: float, other: float, factor: float
) -> None:
    figure = Figure(value, min(one, other), max(one, other), "s")
    scaled = figure.scaled(factor, "ms")
    assert (scaled.low, scaled.value, scaled.high) == (
        figure.low * factor,
        value * factor,
        figure.high * factor,
    )


def test_a_band_that_lies_below_the_model_does_not_reach_up_to_it() -> None:
    band = Band(0.645, 0.998, 13)
    figure = Banded(2.41, "x", band).figure
    assert (figure.low, figure.high) == (2.41 * 0.645, 2.41 * 0.998)
    assert band.bias == "lower"
    assert band.inverse.bias == "higher"
    assert str(band).endswith("published figures are lower")
