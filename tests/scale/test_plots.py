"""Plots: the files that there should be, whole, self-contained and the same each time."""

from __future__ import annotations

import struct
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.scale.plots import draw
from tremula.scale.row import ScalingStudy

NAMES = ["throughput", "efficiency", "memory", "energy", "time_weak", "time_strong"]


def small(study: ScalingStudy, *, parts: bool = False) -> ScalingStudy:
    """Three sizes of a mode, with throughput and nothing else, or with the parts of a step: sooner drawn."""
    rows = tuple(
        replace(row, figures={"throughput": row.figures["throughput"]}, shares=row.shares if parts else {})
        for row in study.rows
        if row.mode == "weak" and row.ipus in (1, 2, 4)
    )
    return replace(study, rows=rows)


@pytest.fixture(scope="module")
def files(study: ScalingStudy, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return draw(study, tmp_path_factory.mktemp("plots") / "new" / "folder")


def test_there_is_a_png_and_an_svg_of_each(files: list[Path]) -> None:
    assert [file.name for file in files] == [f"{name}.{end}" for name in NAMES for end in ("png", "svg")]
    assert sorted(files[0].parent.iterdir()) == sorted(files), "and nothing else"


def test_pngs_are_images_of_a_sane_size(files: list[Path]) -> None:
    for file in files:
        if file.suffix == ".png":
            content = file.read_bytes()
            assert content[:8] == b"\x89PNG\r\n\x1a\n"
            width, height = struct.unpack(">II", content[16:24])
            assert 800 <= width <= 4_000
            assert 500 <= height <= 4_000
            assert 10_000 < len(content) < 1_000_000


def test_svgs_are_well_formed_and_ask_nobody_for_anything(files: list[Path]) -> None:
    for file in files:
        if file.suffix == ".svg":
            text = file.read_text(encoding="utf-8")
            assert "<!DOCTYPE" not in text
            assert "<script" not in text
            root = ElementTree.fromstring(text)
            references = [
                value for each in root.iter() for name, value in each.attrib.items() if name.endswith("href")
            ]
            assert all(value.startswith("#") for value in references)
            assert "url(http" not in text
            assert "matplotlib.org" not in text


def test_the_same_study_gives_the_same_files(study: ScalingStudy, tmp_path: Path) -> None:
    first, second = (draw(small(study, parts=True), tmp_path / name) for name in ("a", "b"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert {file.stem for file in first} == {"throughput", "time_weak"}, "what there are figures for"


def test_names_cannot_break_a_plot(hostile_study: ScalingStudy, tmp_path: Path) -> None:
    files = draw(small(hostile_study, parts=True), tmp_path)
    for file in files:
        if file.suffix == ".svg":
            ElementTree.fromstring(file.read_text(encoding="utf-8"))


def test_a_study_without_figures_has_no_plots(empty_study: ScalingStudy, tmp_path: Path) -> None:
    assert draw(empty_study, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_more_targets_than_colours(study: ScalingStudy, tmp_path: Path) -> None:
    rows = small(study).rows[:2]
    many = tuple(
        replace(row, setting={**row.setting, "target": f"target {i}"}) for i in range(12) for row in rows
    )
    assert draw(replace(study, rows=many, data=None), tmp_path)


def test_a_folder_that_cannot_be_written_is_told_and_nothing_stays(
    study: ScalingStudy, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Error, match="cannot be written"):
        draw(small(study), tmp_path / "file")
    taken = tmp_path / "taken"
    (taken / "throughput.png").mkdir(parents=True)
    with pytest.raises(Error, match=r"throughput\.png cannot be written"):
        draw(small(study), taken)
    assert [each.name for each in taken.iterdir()] == ["throughput.png"]


def test_what_is_missing_is_named(
    study: ScalingStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Error, match=r"pip install 'tremula\[apps\]'"):
        draw(study, tmp_path / "plots")
    assert not (tmp_path / "plots").exists()


def test_no_global_state_of_matplotlib_is_touched(study: ScalingStudy, tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(small(study), tmp_path)
    assert dict(matplotlib.rcParams) == before
