"""Blind rows, inputs chosen after results, sensitivities and versions: kept apart, and on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.fidelity_cases import Case, CaseError, load, load_files, shipped_cases
from benchmarks.fidelity_evaluate import Prediction
from benchmarks.fidelity_page import page
from benchmarks.fidelity_sensitivity import KEPT, Change, as_toml, kept, medians
from benchmarks.fidelity_statistics import Row, rate_ratio, summaries

from benchmarks import fidelity
from benchmarks import fidelity_page_sections as sections
from tremula.estimate.estimate import VERSION
from tremula.plan.constants import FITTED
from tremula.schedule.constants import FITTED_SCHEDULE

_GEMM = """
[[case]]
id = "mine"
kind = "gemm"
chip = "bow"
metric = "throughput"
published = 100
unit = "TFLOP/s"
source = "me"
parameters = { rows = 64, inner = 64, columns = 64 }
"""
_CASE = Case(
    id="a", kind="model", chip="mk2", metric="throughput", published=100.0, unit="samples/s", source="x/y",
    category="training", parameters={"model": "bert", "batch": 1}, family="a",
)  # fmt: skip


def test_files_called_blind_or_fit_are_blind_unless_they_say_otherwise(tmp_path: Path) -> None:
    for name, text, expected in (
        ("blind_mine.toml", _GEMM, True),
        ("fit_mine.toml", _GEMM, True),
        ("mine.toml", _GEMM, False),
        ("mine.toml", f"[defaults]\nblind = true\n{_GEMM}", True),
        ("blind_mine.toml", f"[defaults]\nblind = false\n{_GEMM}", False),
    ):
        path = tmp_path / name
        path.write_text(text)
        assert load(path)[0].blind is expected


def test_no_constant_is_fitted_to_a_blind_row(tmp_path: Path) -> None:
    path = tmp_path / "blind_mine.toml"
    path.write_text(_GEMM.replace('source = "me"', 'source = "me"\nfit = true'))
    with pytest.raises(CaseError, match="not a blind test"):
        load(path)
    assert not [case.id for case in shipped_cases() if case.blind and case.fit]


def test_blind_rows_have_a_table_of_their_own() -> None:
    rows = [
        Row(Prediction(_CASE, 110.0)),
        Row(Prediction(replace(_CASE, id="b", blind=True), 150.0)),
        Row(Prediction(replace(_CASE, id="c", blind=True, metric="time"), 50.0)),
    ]
    (known,), (blind,) = summaries(rows), summaries(rows, blind=True)
    assert (known.unused.rows, blind.unused.rows) == (1, 2)
    assert known.unused.ratio == pytest.approx(1.1)
    assert blind.unused.median == pytest.approx(0.5)
    assert blind.unused.ratio == pytest.approx(1.75)  # 1.5, and a time turned round
    table = sections.blind([blind], {"training": "training throughput"})
    assert "| training throughput | 2 | 50.0% | 50.0% | 1.75 | 0 |" in table
    assert sections.blind([], {}) == ""
    found = fidelity.as_json(rows, [known])
    assert [each.get("blind", False) for each in found["cases"]] == [False, True, True]
    assert found["blind"][0]["unused"]["rows"] == 2
    assert "1.75" in fidelity.summary_table([blind], "blind rows")


@pytest.mark.parametrize(
    ("metric", "ratio"), [("throughput", 2.0), ("time", 0.5), ("cycles", 0.5), ("fits", None)]
)
def test_rates_of_predictions(metric: str, ratio: float | None) -> None:
    assert rate_ratio(Prediction(replace(_CASE, metric=metric), 200.0)) == ratio


def test_inputs_chosen_after_results_are_listed_once_with_their_rows() -> None:
    rows = [Row(Prediction(replace(_CASE, id=name, chosen_after="a call takes 1 ms"), 1.0)) for name in "ab"]
    assert "- a call takes 1 ms (`a`, `b`)" in sections.chosen_after(rows)
    assert sections.chosen_after([Row(Prediction(_CASE, 1.0))]) == ""


def test_sensitivities_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = {"superstep_cycles": {"training": Change(0.01, -0.02), "inference": Change(0.0, 0.0)}}
    path = tmp_path / "kept.toml"
    assert kept(path) == ("", {})
    path.write_text(as_toml(found))
    assert kept(path) == (VERSION, found)


def test_shipped_sensitivities_are_of_all_constants() -> None:
    _, found = kept(KEPT)
    assert set(found) == {**vars(FITTED), **vars(FITTED_SCHEDULE)}.keys()
    # more cycles around a superstep never make a model faster
    for change in found["superstep_cycles"].values():
        assert change.lower >= 0.0 >= change.higher


def test_medians_are_of_rates() -> None:
    class Doubling:
        def predict(self, case: Case) -> Prediction:
            return Prediction(case, 2.0 * case.published)

    cases = [_CASE, _CASE, replace(_CASE, metric="time", category="inference")]
    assert medians(cases, Doubling()) == {"training": 2.0, "inference": 0.5}  # type: ignore[arg-type]


def test_the_newest_version_of_the_model_is_described() -> None:
    text = sections.versions()
    assert text.index(f"Version {VERSION}:") < text.index("Version 2:")


def test_the_page_has_all_sections(tmp_path: Path) -> None:
    path = tmp_path / "blind_mine.toml"
    path.write_text(_GEMM.replace('source = "me"', 'source = "me"\nchosen_after = "a guess"'))
    rows = fidelity.predict(load_files([path]))
    text = page(rows, summaries(rows), {})
    for title in (
        "Blind rows",
        "Bands",
        "Fitted constants",
        "Inputs chosen after results were seen",
        "Model versions",
    ):
        assert f"## {title}\n" in text


def test_files_of_all_cases_are_not_written_from_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert fidelity.main(["--only", "gemm", "--write-fit"]) == 2
    assert "leave --only out" in capsys.readouterr().err
