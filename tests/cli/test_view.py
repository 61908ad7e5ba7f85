"""`tremula view`: text, page, trace and JSON of a profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tremula.cli.main import main


def test_text_by_default(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file)]) == 0
    out = capsys.readouterr().out
    assert "Memory Usage" in out
    assert "Options:" not in out
    assert main(["view", str(profile_file.parent), "--full"]) == 0
    assert "Options:" in capsys.readouterr().out


def test_details(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file), "--op", "mm0", "--tile", "3", "--ops", "2"]) == 0
    out = capsys.readouterr().out
    assert "Tile # 3 memory usage" in out
    assert "not taken" in out
    assert "Memory Usage" not in out


def test_json(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["note"] == "modelled, not measured"
    assert sum(found["breakdown"].values()) == pytest.approx(found["figures"]["cycles_per_step"]["value"])


def test_files(profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = tmp_path / "new" / "page.html", tmp_path / "trace.json"
    assert main(["view", str(profile_file), "--html", str(page), "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert str(page) in out
    assert str(trace) in out
    assert "Memory Usage" not in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(trace.read_text())["traceEvents"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new", "trace.json"]


def test_what_cannot_be_shown(profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "profile.pop"
    wrong.write_bytes(b"nothing")
    (tmp_path / "empty").mkdir()
    for arguments, said in (
        ([str(wrong)], "not an SQLite file"),
        ([str(tmp_path / "none")], "cannot be opened"),
        ([str(tmp_path / "empty")], "no profile.pop"),
        ([str(profile_file), "--tile", "999999"], "no tile"),
        ([str(profile_file), "--op", "nothing"], "no op called"),
        ([str(profile_file), "--trace", str(wrong / "t.json")], "cannot be written"),
        ([str(profile_file), "--html", str(wrong / "p.html")], "cannot be written"),
    ):
        assert main(["view", *arguments]) == 1
        assert said in capsys.readouterr().err


def test_several_profiles_are_listed(
    profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.pop").write_bytes(profile_file.read_bytes())
    assert main(["view", str(tmp_path)]) == 1
    assert "choose one" in capsys.readouterr().err
