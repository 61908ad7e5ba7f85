"""`tremula settings` shows the table that the engine reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tremula
from tremula.cli import settings
from tremula.cli.main import main
from tremula.settings import VARIABLES


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def test_all_variables_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--all"]) == 0
    out = capsys.readouterr().out
    assert all(variable.name in out for variable in VARIABLES)


def test_the_short_list_has_the_common_ones_and_those_that_are_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GCDA_MONITOR", "1")
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert "TREMULA_SYSTEM" in out
    assert "GCDA_MONITOR" in out
    assert "PVTI_OPTIONS" not in out
    shown = sum(line.startswith(tuple(variable.name for variable in VARIABLES)) for line in out.splitlines())
    assert f"{len(VARIABLES) - shown} more are not set" in out


def test_the_common_variables_exist() -> None:
    assert {variable.name for variable in VARIABLES} >= settings._COMMON


def test_only_those_set(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--set"]) == 0
    assert "No environment variable of Tremula is set" in capsys.readouterr().out
    monkeypatch.setenv("POPTORCH_IPU_MODEL", "1")
    assert main(["settings", "--set"]) == 0
    out = capsys.readouterr().out
    assert "POPTORCH_IPU_MODEL " in out
    assert "POPTORCH_LOG_LEVEL" not in out


def test_json_marks_a_value_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPTORCH_IPU_MODEL", "maybe")
    assert main(["settings", "--json"]) == 1
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["POPTORCH_IPU_MODEL"]["value"] == "maybe"
    assert "POPTORCH_IPU_MODEL" in rows["POPTORCH_IPU_MODEL"]["problem"]
    assert "problem" not in rows["POPTORCH_LOG_LEVEL"]


def test_values_are_text_not_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPTORCH_CACHE_DIR", "/tmp/[bold]x")
    assert main(["settings", "--set"]) == 0
    assert "/tmp/[bold]x" in capsys.readouterr().out


def test_every_variable_of_ours_that_the_code_names_is_in_the_table() -> None:
    source = Path(tremula.__file__).parent.parent
    files = [
        path
        for package in ("tremula", "poptorch", "popdist", "popart")
        for path in (source / package).rglob("*.py")
    ]
    named = {name for path in files for name in re.findall(r"\bTREMULA_[A-Z_]+\b", path.read_text("utf-8"))}
    assert named - {variable.name for variable in VARIABLES} == set()
