"""A figure lies in its own range, whatever its band says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tremula.estimate.bands import Band
from tremula.estimate.figures import Banded, Figure

_POSITIVE = st.floats(1e-9, 1e12)
_SHARES = st.floats(0.01, 100.0)


@given(_POSITIVE, _SHARES, _SHARES)
def test_the_range_of_a_band_takes_in_the_value(value: float, one: float, other: float) -> None:
    band = Band(min(one, other), max(one, other), 5)
    for each in (band, band.inverse):
        low, high = each.around(value)
        assert low <= value <= high
        assert low <= value * each.low
        assert high >= value * each.high


@given(_POSITIVE, _POSITIVE, _POSITIVE, _SHARES)
def test_a_figure_lies_in_its_range(value: float, low: float, high: float, factor: float) -> None:
    figure = Figure(value, low, high, "s")
    for each in (figure, figure.scaled(factor, "ms")):
        assert each.low <= each.value <= each.high
    assert figure.low <= low
    assert figure.high >= high


def test_a_band_that_lies_below_the_model_reaches_up_to_it() -> None:
    figure = Banded(2.41, "x", Band(0.645, 0.998, 13)).figure
    assert (figure.low, figure.high) == (2.41 * 0.645, 2.41)
