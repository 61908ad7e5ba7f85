"""Bands: percentiles that hold for families that were left out, one for all categories with few rows."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from benchmarks.fidelity_bands import (
    COVERAGE,
    Ratio,
    band_of,
    bands_as_toml,
    coverage,
    coverages,
    ends,
    found_bands,
    ratios,
)
from benchmarks.fidelity_cases import Case
from benchmarks.fidelity_evaluate import Prediction
from benchmarks.fidelity_kinds import KINDS
from benchmarks.fidelity_statistics import Row
from hypothesis import given
from hypothesis import strategies as st

from tremula.estimate.bands import op_category, parse_bands

_BEFORE = "[memory]\nlow = 0.7\nhigh = 1.4\nrows = 0\n"
_CASE = Case(
    id="a", kind="model", chip="mk2", metric="throughput", published=100.0, unit="samples/s", source="x/y",
    category="training", parameters={"model": "bert", "batch": 1}, family="a",
)  # fmt: skip
logs = st.lists(
    st.builds(Ratio, st.just("training"), st.sampled_from("abcdef"), st.floats(-1.0, 1.0)),
    min_size=8,
    max_size=40,
)


def _rows(
    predicted: list[float], category: str = "training", families: int = 4, **changes: object
) -> list[Row]:
    return [
        Row(Prediction(replace(_CASE, category=category, family=f"{n % families}", **changes), value))  # type: ignore[arg-type]
        for n, value in enumerate(predicted)
    ]


def test_times_are_turned_round() -> None:
    (rate,) = ratios(_rows([50.0]))
    (time,) = ratios(_rows([50.0], metric="time_per_update"))
    assert rate.log == pytest.approx(math.log(2.0))
    assert time.log == pytest.approx(-math.log(2.0))
    assert not ratios(_rows([50.0], metric="fits"))
    assert not ratios(_rows([50.0], category="vertex"))


def test_the_band_of_a_biased_model_does_not_contain_one() -> None:
    chance = random.Random(1)
    band = band_of([Ratio("training", f"{n % 8}", math.log(0.7) + chance.gauss(0, 0.05)) for n in range(80)])
    assert band.low < 0.7 < band.high < 1.0
    assert band.bias == "lower"


@given(logs)
def test_bands_cover_what_they_say(rows: list[Ratio]) -> None:
    band = band_of(rows)
    assert 0.0 < band.low <= band.high
    if len({row.family for row in rows}) > 1:
        assert band.coverage is not None
        assert band.coverage >= COVERAGE or band.high / band.low > 1.0
    else:
        assert band.coverage is None


@given(logs, st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_a_wider_band_covers_no_less(rows: list[Ratio], one: float, other: float) -> None:
    narrow, wide = sorted((one, other))
    assert (coverage(rows, narrow) or 0.0) <= (coverage(rows, wide) or 0.0)
    assert ends(rows, wide)[0] <= ends(rows, narrow)[0] <= ends(rows, narrow)[1] <= ends(rows, wide)[1]


def test_coverage_of_many_families_is_as_asked_for() -> None:
    chance = random.Random(3)
    rows = [Ratio("training", f"{n % 20}", chance.gauss(0.1, 0.2)) for n in range(200)]
    band = band_of(rows)
    assert band.coverage is not None
    assert 0.8 <= band.coverage <= 0.83
    assert band.families == 20


def test_categories_with_few_rows_or_families_share_a_band() -> None:
    rows = (
        _rows([90.0, 100.0, 110.0, 120.0] * 10)
        + _rows([100.0, 105.0, 95.0] * 10, "stencil", 3)
        + _rows([100.0, 120.0], "gemm", 2)
    )
    found = found_bands(rows, _BEFORE)
    assert set(found) == {"training", "memory", "others"}
    assert found["others"].categories == ("gemm", "stencil")
    assert found["others"].rows == 32
    assert found["memory"] == parse_bands(_BEFORE)["memory"]
    read = parse_bands(bands_as_toml(rows, _BEFORE))
    assert read["gemm"].rows == read["stencil"].rows == 32
    assert read["training"].families == 4
    listed = {each.category: each for each in coverages(rows, _BEFORE)}
    assert list(listed) == ["gemm", "stencil", "training", "memory"]
    assert listed["gemm"].rows == 2
    assert listed["training"].share == pytest.approx(found["training"].coverage)


def test_memory_has_a_band_of_its_own_with_enough_rows() -> None:
    rows = _rows([90.0, 100.0, 110.0, 120.0] * 10, "memory", 8, metric="tile_bytes_max", kind="memory")
    assert found_bands(rows, _BEFORE)["memory"].rows == 40


def test_ops_have_the_category_under_which_their_cases_are_reported() -> None:
    for kind in KINDS.values():
        if kind.work is not None:
            work = object.__new__(kind.work)
            assert op_category(work) == kind.category, kind.name
