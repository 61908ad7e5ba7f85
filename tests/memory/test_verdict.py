"""Fits as a probability: it falls with the fill, its words follow, and the shipped curve is one of these."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.memory.verdict import (
    FITTING,
    WORDS,
    Bin,
    Curve,
    curve,
    fit_of,
    parse_curve,
    percentage,
    word_of,
)

_ORDER = [word for word, _ in WORDS]
fills = st.floats(0.0, 100.0)
curves = st.builds(
    Curve,
    centre=st.floats(0.3, 3.0),
    width=st.floats(0.01, 1.0),
    lapse=st.floats(0.0, 0.04),
    bins=st.just(()),
    rows=st.just(0),
)


@given(curves, fills, fills)
def test_the_probability_never_rises_with_the_fill(by: Curve, one: float, other: float) -> None:
    emptier, fuller = sorted((one, other))
    assert 0.0 <= by.probability(fuller) <= by.probability(emptier) <= 1.0


@given(curves, fills, fills)
def test_words_get_no_better_with_the_fill(by: Curve, one: float, other: float) -> None:
    emptier, fuller = (by.fit(fill) for fill in sorted((one, other)))
    assert _ORDER.index(emptier.verdict) <= _ORDER.index(fuller.verdict)
    assert emptier.fits >= fuller.fits


@given(curves)
def test_a_program_fits_up_to_the_fill_that_counts_as_full(by: Curve) -> None:
    assert by.fit(by.full * 0.999).fits
    assert not by.fit(by.full * 1.001).fits
    assert by.probability(by.centre) == pytest.approx(0.5)


@given(st.floats(0.0, 1.0))
def test_every_probability_has_a_word(probability: float) -> None:
    word = word_of(probability)
    assert probability >= dict(WORDS)[word]
    assert (word in FITTING) == (probability >= 0.5)
    assert percentage(probability) not in ("0 %", "100 %")


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, "yes"),
        (0.95, "yes"),
        (0.94, "likely"),
        (0.5, "likely"),
        (0.49, "unlikely"),
        (0.04, "no"),
        (0.0, "no"),
    ],
)
def test_the_limits_of_the_words(probability: float, word: str) -> None:
    assert word_of(probability) == word


def test_evidence_counts_the_configurations_of_the_same_bin() -> None:
    bins = (Bin(0.0, 0.9, 0, 0), Bin(0.9, 0.98, 37, 4), Bin(0.98, 1.1, 1, 0), Bin(1.1, math.inf, 1, 8))
    by = Curve(1.0, 0.1, 0.02, bins, 51)
    assert by.evidence(0.95) == (
        "of 41 published configurations that were modelled at 90 to 98 % of a tile, 37 ran"
    )
    assert by.evidence(0.5) == "no published configuration uses less than 90 % of a tile (modelled)"
    assert by.evidence(1.0).startswith("of 1 published configuration that was modelled at 98 to 110 %")
    assert "more than 110 % of a tile, 1 ran" in by.evidence(7.0)
    assert (
        Curve(1.0, 0.1, 0.02, (), 0).evidence(0.5)
        == "no published configuration uses about 50% of a tile (modelled)"
    )


def test_the_text_has_word_probability_and_fill() -> None:
    found = Curve(1.0, 0.1, 0.0, (), 0).fit(0.9)
    assert str(found) == "fits: likely (74 %), 90% of the fullest tile"


def test_the_shipped_curve_is_sure_of_almost_empty_and_overfull_tiles() -> None:
    assert fit_of(0.1).verdict == "yes"
    assert fit_of(10.0).verdict == "no"
    shipped = curve()
    assert shipped.rows == sum(each.ran + each.failed for each in shipped.bins) > 0
    assert shipped.bins[0].low == 0.0
    assert math.isinf(shipped.bins[-1].high)
    for before, after in zip(shipped.bins, shipped.bins[1:], strict=False):
        assert before.high == after.low


@pytest.mark.parametrize(
    "text",
    [
        "centre = 1.0",
        'centre = 0.0\nwidth = 0.1\nlapse = 0.0\nrows = 0\ndate = ""\nmodel_version = "2"\nbin = []',
        'centre = 1.0\nwidth = -1\nlapse = 0.0\nrows = 0\ndate = ""\nmodel_version = "2"\nbin = []',
        'centre = 1.0\nwidth = 0.1\nlapse = 0.3\nrows = 0\ndate = ""\nmodel_version = "2"\nbin = []',
        'centre = 1.0\nwidth = 0.1\nlapse = 0.0\nrows = 0\ndate = ""\nmodel_version = "2"\nbin = [{ low = 0 }]',
    ],
)
def test_a_damaged_curve_is_refused(text: str) -> None:
    with pytest.raises(Error, match="curve of fits"):
        parse_curve(text)
