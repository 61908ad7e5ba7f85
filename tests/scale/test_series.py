"""A series holds all of its sizes, also those that there are no figures for."""

from __future__ import annotations

from pathlib import Path

from tests.scale.models import stack

from tremula.scale.question import WEAK, ScaleQuestion
from tremula.scale.run import make_study


def test_a_size_that_cannot_be_laid_out_stays_in_its_series(tmp_path: Path) -> None:
    """Without a target the chip is this machine's, which a size without a layout knows nothing of."""
    question = ScaleQuestion.of(ipus=(1, 2, 3), stages=(2,), mode=(WEAK,), per_ipu=2)

    def made() -> list[tuple[str, str, list[tuple[int, bool]]]]:
        study = make_study(stack(), question, command="tremula scale", folder=tmp_path, tell=lambda *_: None)
        return [
            (mode, target, [(row.ipus, not row.problem) for row in rows])
            for mode, target, rows in study.series()
        ]

    found = made()
    assert found == [(WEAK, "bow", [(1, False), (2, True), (3, False)])]
    assert made() == found  # and when it is taken from what was kept


def test_without_any_layout_there_is_still_a_reason_for_each_size(tmp_path: Path) -> None:
    question = ScaleQuestion.of(ipus=(1, 3), stages=(2,), mode=(WEAK,), per_ipu=2)
    study = make_study(stack(), question, command="tremula scale", folder=tmp_path, tell=lambda *_: None)
    assert [row.problem for row in study.rows] == [
        "none of the tried replica widths divides 1 IPU",
        "none of the tried replica widths divides 3 IPUs",
    ]
