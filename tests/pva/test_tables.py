"""Lists in bulk."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tremula.errors import Error


def test_without_pandas_the_error_says_what_to_do(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Error, match=r"needs pandas: pip install pandas.*to_numpy"):
        small.execution.steps.to_dataframe()


def test_data_frames(small: Any) -> None:
    pytest.importorskip("pandas")
    frame = small.execution.steps.to_dataframe()
    assert frame.groupby("name").cycles.sum()["enc/fc/multiply"] == 90
    assert list(small.compilation.variables[:2].to_dataframe("name", "size").columns) == ["name", "size"]


def test_every_list_has_columns_of_its_length(small: Any) -> None:
    import pva

    compilation = small.compilation
    lists = [
        compilation.tiles, compilation.ipus[1].tiles, compilation.programs, compilation.computeSets,
        compilation.livenessProgramSteps, compilation.alwaysLiveVariables, compilation.variables,
        small.execution.steps, small.execution.runs[0].steps, pva.OperationAnalysis(small).operations,
    ]  # fmt: skip
    for each in lists:
        for part in (each, each[1:], each[:0], each[::-1]):
            columns = part.to_numpy()
            assert set(columns) == set(each.columns)
            assert {len(column) for column in columns.values()} == {len(part)}


def test_columns_follow_the_order_of_the_list(small: Any) -> None:
    names = small.compilation.computeSets[::-1].to_numpy("name")["name"]
    assert names.tolist() == ["head/out/multiply", "enc/fc/multiply"]


def test_the_text_of_lists_is_as_long_as_asked_for(small: Any) -> None:
    programs = small.compilation.programs
    assert "OnEveryTileSwitch" in repr(programs)
    small.listPrintLength(1)
    assert repr(programs).endswith("... 9 more]")
