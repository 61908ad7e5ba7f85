"""Sizes of a study: the best layout of each, and how they compare with the smallest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scale.models import stack

from tremula.estimate.bands import band
from tremula.estimate.figures import Figure
from tremula.frontends.torch.subject import TorchSubject
from tremula.scale.layouts import Layouts
from tremula.scale.question import STRONG, WEAK, ScaleQuestion
from tremula.scale.row import Row
from tremula.scale.sizes import batches_for, compared, sizes
from tremula.study.answer import ask
from tremula.study.question import Question

#: does not fit on one Mk2 in fp32, nor on two
LARGE = {"width": 5000, "layers": 8, "batch": 1}


def rows_of(subject: TorchSubject, **asked: object) -> tuple[list[Row], list[str]]:
    question = ScaleQuestion.of(**{"target": ("mk2",), "ipus": (1, 2, 4), "stages": (1, 2), **asked})  # type: ignore[arg-type]
    layouts = Layouts(subject, question)
    batches, notes = batches_for(layouts, question)
    return sizes(layouts, question, batches), notes


def test_a_small_model_is_replicated_and_its_efficiency_is_that_of_its_rate() -> None:
    rows, notes = rows_of(stack(), mode=(WEAK,))
    assert [(row.replicas, row.stages) for row in rows] == [(1, 1), (2, 1), (4, 1)]
    assert [row.global_batch for row in rows] == [8, 16, 32]
    assert not notes
    first = rows[0].figures["throughput"].value
    for row in rows:
        gain = row.figures["throughput"].value / first
        assert row.figures["speedup"].value == pytest.approx(gain)
        assert row.figures["efficiency"].value == pytest.approx(gain / row.ipus)
    one = rows[0].figures["efficiency"]
    assert (one.value, one.low, one.high) == (1.0, 1.0, 1.0)
    last = rows[-1].figures["efficiency"]
    assert last.low == pytest.approx(last.value * band("scaling").low)


def test_a_row_says_what_an_estimate_of_the_same_setting_says() -> None:
    rows, _ = rows_of(stack(), mode=(WEAK,), ipus=(4,))
    result = ask(stack(), Question.of(target="mk2", ipus=4)).results[0]
    assert rows[0].figures["throughput"] == result["throughput"]
    assert rows[0].figures["tile_share"] == result["tile_share"]


def test_the_parts_of_a_step_sum_to_it() -> None:
    for row in rows_of(stack())[0]:
        assert sum(row.parts.values()) == pytest.approx(row.figures["step_seconds"].value)


def test_strong_scaling_keeps_the_batch_and_meets_weak_scaling_at_the_largest_size() -> None:
    rows, _ = rows_of(stack())
    strong = [row for row in rows if row.mode == STRONG]
    assert {row.global_batch for row in strong} == {32}
    assert [row.setting["accumulation"] for row in strong] == [4, 2, 1]
    weak = [row for row in rows if row.mode == WEAK]
    assert strong[-1].figures["throughput"] == weak[-1].figures["throughput"]
    assert strong[-1].figures["efficiency"].value < strong[0].figures["efficiency"].value


def test_a_model_that_does_not_fit_on_one_ipu_is_cut_and_gets_the_micro_batches_for_that() -> None:
    rows, notes = rows_of(stack(**LARGE), mode=(WEAK,), stages=(1, 2, 4))
    alone, *cut = rows
    assert alone.fits in ("unlikely", "no")
    assert not alone.runs
    assert "efficiency" not in alone.figures  # what does not fit is not a measure of what does
    assert "throughput" in alone.figures
    largest = cut[-1]
    assert largest.runs
    assert largest.stages > 1
    assert largest.setting["accumulation"] == largest.stages * largest.global_batch // largest.ipus
    assert any("micro-batches per weight update instead of 1" in note for note in notes)
    tried = {(layout.stages, layout.chosen, layout.fits in ("yes", "likely")) for layout in largest.layouts}
    assert (1, False, False) in tried
    assert any(chosen for _, chosen, _ in tried)


def test_the_fastest_layout_that_fits_is_chosen() -> None:
    for row in rows_of(stack(**LARGE), mode=(STRONG,), stages=(1, 2, 4), ipus=(4,), global_batch=96)[0]:
        fitting = [layout for layout in row.layouts if layout.fits in ("yes", "likely")]
        best = max(fitting, key=lambda layout: layout.throughput or 0.0)
        assert [layout for layout in row.layouts if layout.chosen] == [best]
        assert (row.replicas, row.stages) == (best.replicas, best.stages)


def test_a_layout_that_cannot_be_is_told_and_the_others_are_tried() -> None:
    row = rows_of(stack(), mode=(STRONG,), ipus=(2,), global_batch=8)[0][0]
    assert row.stages == 2 or "cannot be divided" in row.layouts[0].problem
    alone = next(layout for layout in row.layouts if layout.stages == 1)
    assert "cannot be divided among 2 replicas" in alone.problem
    nothing = rows_of(stack(), mode=(STRONG,), ipus=(2,), stages=(1,), global_batch=8)[0][0]
    assert "cannot be divided" in nothing.problem
    assert not nothing.figures


def test_a_system_that_is_too_small_is_told() -> None:
    small, large = rows_of(stack(), target=("m2000",), mode=(WEAK,), ipus=(4, 16))[0]
    assert small.runs
    assert "has 4" in large.problem


def test_where_to_cut_is_searched_once_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.scale import layouts

    searched: list[int] = []
    search = layouts.split_for

    def counted(study: object, setting: object, plan: object) -> object:
        searched.append(plan.stages)  # type: ignore[attr-defined]
        return search(study, setting, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(layouts, "split_for", counted)
    rows, _ = rows_of(stack(), ipus=(2, 4, 8, 16, 64), per_ipu=4)
    assert len(rows) == 10
    assert searched == [2]


def test_a_part_of_a_system_has_its_part_of_the_hosts() -> None:
    rows, _ = rows_of(stack(), target=("pod256",), mode=(WEAK,), ipus=(1, 64, 128, 256), stages=(1,))
    assert [row.hosts for row in rows] == [1, 1, 2, 4]


def test_what_was_chosen_for_the_batch_is_told() -> None:
    _, notes = rows_of(stack(), mode=(STRONG,))
    assert any("global batch of strong scaling is 32 samples" in note for note in notes)
    assert not rows_of(stack(), mode=(STRONG,), global_batch=32)[1]


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=8))
def test_no_efficiency_is_above_that_of_the_best_size(rates: list[float]) -> None:
    series = [
        Row("model", True, {"target": "bow", "ipus": 2**at}, fits="yes", figures={"throughput": _rate(rate)})
        for at, rate in enumerate(rates)
    ]
    rows = compared(series)
    for row in rows:
        for figure in row.figures.values():
            assert figure.low <= figure.high
        # published efficiencies lie below modelled ones: the range may end below the value
        assert row["efficiency"].low <= row["efficiency"].value
        assert row["efficiency"].high <= 1.0
    best = max(rows, key=lambda row: row.throughput / row.ipus)
    assert best["efficiency"].value == 1.0
    assert best["efficiency"].unit == f"of {best.ipus} IPU{'s' * (best.ipus > 1)}"
    assert rows[0]["speedup"].value == 1.0


def _rate(value: float) -> Figure:
    return Figure(value, 0.7 * value, 1.02 * value, "samples/s")
