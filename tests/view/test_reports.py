"""Reports in files and folders: which there are, what they are called, and what a broken one does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.view.reports import OpenReports, find_reports


def test_a_folder_holds_one_report_for_each_engine(profile_file: Path, tmp_path: Path) -> None:
    for engine in ("training", "inference"):
        (tmp_path / "run" / engine).mkdir(parents=True)
        shutil.copy(profile_file, tmp_path / "run" / engine)
    found = find_reports([tmp_path / "run", profile_file])
    assert [(each.number, each.name, each.kind) for each in found] == [
        (0, "inference", "profile"),
        # two have the same name, so they get that of the folder around it
        (1, "run/training", "profile"),
        (2, f"{profile_file.parent.parent.name}/training", "profile"),
    ]
    opened = OpenReports(found)
    assert all("8 IPUs, modelled" in each["title"] for each in opened.listed()["reports"])
    opened.close()


def test_traces_of_a_folder_are_one_report(tmp_path: Path) -> None:
    for name in ("a.pvti", "b.pvti"):
        (tmp_path / name).touch()
    (report,) = find_reports([tmp_path])
    assert report.kind == "trace"
    assert [path.name for path in report.paths] == ["a.pvti", "b.pvti"]


def test_a_broken_report_is_listed_with_its_problem(profile_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "profile.pop"
    broken.parent.mkdir()
    broken.write_bytes(b"nothing")
    opened = OpenReports(find_reports([broken, profile_file]))
    first, second = opened.listed()["reports"]
    assert "cannot be read as a profile" in first["title"]
    assert "modelled" in second["title"]
    with pytest.raises(Error, match="cannot be read"):
        opened.answer(0, "summary", {})
    assert opened.answer(1, "summary", {})
    opened.close()


def test_a_folder_without_reports_is_told(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"no profile\.pop and no \.pvti"):
        find_reports([tmp_path])
