"""Predicted compile times: the formula, its rows, and that it grows with the program."""

from __future__ import annotations

import pytest

from tremula.advise.compile_time import compile_time, compile_time_of, formula, parse, pieces_of_work
from tremula.errors import Error

from .subjects import trained


def test_fitted_rows_lie_in_the_band() -> None:
    line = formula()
    assert line.fitted_rows >= 5
    for row in line.rows:
        assert row.source
        if row.ops is not None:
            told = compile_time_of(row.ops)
            assert told.low <= row.seconds <= told.high, row.what


def test_it_grows_with_the_program() -> None:
    study, case = trained()
    found = compile_time(study.estimate(case))
    assert found.ops == pieces_of_work(study.estimate(case)) > 10
    assert formula().base_seconds < found.seconds < compile_time_of(10 * found.ops).seconds
    assert "about" in str(found)
    assert "modelled" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[formula]\nbase_seconds = 1",
        "row = []\n[formula]\nbase_seconds = -1\nseconds_per_op=1\nlow=1\nhigh=1",
    ],
)
def test_a_damaged_table_is_refused(text: str) -> None:
    with pytest.raises(Error):
        parse(text)
