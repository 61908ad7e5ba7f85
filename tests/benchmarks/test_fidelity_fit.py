"""Said to fit, did fit: what counts as evidence, the curve through it, and the tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.fidelity_cases import Case, publication
from benchmarks.fidelity_fit_curve import as_toml, counted, curves_without, fit_curve, weight_of_failures
from benchmarks.fidelity_fit_evidence import Evidence, tried
from benchmarks.fidelity_fit_table import as_markdown, tables, verdicts
from hypothesis import given
from hypothesis import strategies as st

from tremula.memory.verdict import parse_curve

_MODEL = Case(
    id="a", kind="model", chip="mk2", metric="throughput", published=10.0, unit="samples/s", source="x/y",
    category="training", parameters={"model": "bert", "batch": 1}, family="bert, x/y",
)  # fmt: skip
evidence = st.lists(
    st.builds(
        Evidence,
        id=st.just("a"),
        family=st.sampled_from(["a", "b", "c"]),
        fill=st.floats(0.05, 4.0),
        ran=st.booleans(),
    ),
    max_size=20,
)


def _rows(fills: list[float], ran: bool, family: str = "a") -> list[Evidence]:
    return [Evidence(f"{family}{number}", family, fill, ran) for number, fill in enumerate(fills)]


def test_a_published_speed_is_of_a_program_that_ran() -> None:
    assert list(tried(_MODEL)) == [(_MODEL, True)]
    assert not list(tried(replace(_MODEL, quality=3)))  # simulated, or recalled
    assert not list(tried(replace(_MODEL, kind="memory", metric="tile_bytes_max")))
    assert not list(tried(replace(_MODEL, kind="gemm", parameters={})))


@pytest.mark.parametrize("kind", ["memory", "gemm"])
def test_a_case_may_say_that_it_fits_or_not(kind: str) -> None:
    for published in (0.0, 1.0):
        case = replace(_MODEL, kind=kind, metric="fits", published=published)
        assert list(tried(case)) == [(case, bool(published))]


def test_the_next_batch_after_the_largest_failed() -> None:
    case = replace(
        _MODEL, metric="max_batch_fit", published=4.0, parameters={"batch": 1, "batches": [1, 2, 4, 8, 16]}
    )
    assert [(each.parameters["batch"], ran) for each, ran in tried(case)] == [(4, True), (8, False)]
    largest = replace(case, published=16.0)
    assert [(each.parameters["batch"], ran) for each, ran in tried(largest)] == [(16, True)]


def test_the_curve_lies_between_what_ran_and_what_failed() -> None:
    rows = _rows([0.5, 0.7, 0.8, 0.85] * 5, True) + _rows([1.2, 1.4, 1.6, 2.0] * 5, False)
    found = fit_curve(rows)
    assert 0.85 < found.centre < 1.2
    assert found.width < 0.1
    assert found.fit(0.7).verdict == "yes"
    assert found.fit(1.6).verdict == "no"


def test_one_strange_case_does_not_widen_the_curve() -> None:
    rows = _rows([0.5, 0.7, 0.8, 0.85] * 5, True) + _rows([1.2, 1.4, 1.6, 2.0] * 5, False)
    found = fit_curve([*rows, Evidence("strange", "b", 6.0, True)])
    assert found.width < 1.5 * fit_curve(rows).width


def test_without_evidence_a_tile_is_full_when_it_is_full() -> None:
    assert fit_curve([]).centre == pytest.approx(1.0)


def test_failures_weigh_more_where_they_are_rare() -> None:
    assert weight_of_failures(_rows([0.5] * 7, True) + _rows([1.5] * 3, False)) == pytest.approx(1.0)
    assert 1.0 < weight_of_failures(_rows([0.5] * 10, True) + _rows([1.5] * 3, False)) < 3.0
    assert weight_of_failures(_rows([0.5] * 99, True) + _rows([1.5], False)) == 3.0
    assert weight_of_failures(_rows([0.5], True) + _rows([1.5] * 9, False)) == 1.0


@given(evidence)
def test_every_configuration_is_counted_once_and_the_file_can_be_read(rows: list[Evidence]) -> None:
    found = fit_curve(rows)
    assert sum(each.ran for each in counted(rows)) == sum(row.ran for row in rows)
    read = parse_curve(as_toml(found))
    assert read.bins == found.bins
    assert read.rows == len(rows)
    assert read.centre == pytest.approx(found.centre, rel=1e-3)


@given(evidence)
def test_tables_count_every_row(rows: list[Evidence]) -> None:
    for table in tables(rows, fit_curve(rows)):
        assert table.rows == len(rows)
        assert 0.0 <= table.brier <= 1.0
        assert table.brier_of_base_rate <= 0.25 + 1e-9


def test_a_family_is_judged_by_the_others() -> None:
    others = _rows([0.5, 0.9] * 5, True) + _rows([1.1, 1.5] * 5, False)
    strange = _rows([1.5, 1.6, 1.7, 1.8] * 5, True, "strange")
    without = curves_without(others + strange)
    assert without["strange"].fit(1.6).verdict in ("unlikely", "no")
    assert without["strange"].rows == len(others)
    left_out = tables(others + strange, fit_curve(others + strange))[1]
    assert left_out.counts["no"][0] + left_out.counts["unlikely"][0] >= len(strange)


def test_shares_and_scores_of_a_table() -> None:
    rows = _rows([0.5, 0.5, 1.0, 1.0], True) + _rows([1.0, 2.0], False)
    found = verdicts("x", rows, [0.99, 0.99, 0.6, 0.2, 0.6, 0.01])
    assert found.counts == {"yes": (2, 0), "likely": (1, 1), "unlikely": (1, 0), "no": (0, 1)}
    assert found.ran_said_to_fit == pytest.approx(3 / 4)
    assert found.failed_said_not_to == pytest.approx(1 / 2)
    assert found.ran_of("likely") == pytest.approx(1 / 2)
    assert found.met is False
    assert found.brier_of_base_rate == pytest.approx((4 / 6) * (2 / 6))


def test_blind_rows_have_a_line_of_their_own() -> None:
    rows = [replace(row, blind=row.fill > 1.0) for row in _rows([0.5, 0.9], True) + _rows([1.5], False)]
    assert tables(rows)[-1].rows == 1
    assert "blind rows, family left out, 1 rows" in as_markdown(rows)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("graphcore/PopRT docs, benchmarks of BERT", "graphcore/PopRT"),
        ("https://github.com/graphcore/examples/blob/v3/x.yml", "graphcore/examples"),
        ("MLPerf Training v1.1 logs (mlcommons/training_results_v1.1)", "mlcommons/training_results"),
        ("Graphcore performance results page (graphcore.cn mirror)", "Graphcore performance results page"),
        ("Jia et al. 2019, arXiv 1912.03413", "Jia et al. 2019"),
    ],
)
def test_the_publication_of_a_source(source: str, name: str) -> None:
    assert publication(source) == name
