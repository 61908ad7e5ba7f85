"""The table: every width, every name; and the CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from tremula.formatting import amount, duration, energy, memory_size
from tremula.scale.row import ScalingStudy
from tremula.scale.table import _folded, as_csv, print_study
from tremula.step_parts import BY_KEY


def printed(study: ScalingStudy, width: int) -> str:
    file = io.StringIO()
    print_study(study, Console(file=file, width=width, markup=False, highlight=False, no_color=True))
    return file.getvalue()


def together(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 240])
def test_every_figure_is_there_at_every_width(study: ScalingStudy, width: int) -> None:
    text = printed(study, width)
    assert max(len(line) for line in text.splitlines()) <= width
    words = together(text)
    for row in study.rows:
        for name, say in (("step_seconds", duration), ("throughput", amount), ("ipu_bytes", memory_size)):
            figure = row.figure(name)
            assert figure is None or say(figure.value) in words
    assert "modelled, not measured" in words.lower()
    assert energy(1.5) in words
    assert "…" not in words


def test_a_wide_terminal_has_one_table_for_a_series_and_a_narrow_one_blocks(study: ScalingStudy) -> None:
    wide, narrow = printed(study, 160), printed(study, 40)
    heads = [line for line in wide.splitlines() if "time/step" in line]
    assert len(heads) == 4
    assert all("energy/sample" in head for head in heads)
    assert narrow.count("time/step") == sum(1 for row in study.rows if row.figures)


def test_it_says_where_data_becomes_the_limit(study: ScalingStudy) -> None:
    words = together(printed(study, 120))
    assert "Weak scaling on bow: loading becomes the limit at 16 IPUs." in words
    plenty = replace(study, data=replace(study.data, samples_per_second=1e6), rows=_without_waiting(study))  # type: ignore[type-var]
    assert together(printed(plenty, 120)).count("loading keeps up at every size") == 4


def _without_waiting(study: ScalingStudy) -> tuple[object, ...]:
    return tuple(replace(row, waiting_seconds=None) for row in study.rows)


def test_it_says_what_was_tried_what_was_measured_and_what_is_assumed(study: ScalingStudy) -> None:
    words = together(printed(study, 200))
    assert "32 x 2 (taken)" in words
    assert "64 x 1: " in words
    assert "no figures for 3 IPUs: no such cut" in words
    assert "the speed does not apply to IPUs" in words
    assert "2 processes: they train like one process" in words
    assert "4 processes: they do NOT train like one process" in words
    assert "8 processes: not enough memory" in words
    for sentence in study.assumptions:
        assert sentence in words


def test_a_study_without_figures_is_told(empty_study: ScalingStudy) -> None:
    for width in (40, 160):
        assert together(printed(empty_study, width)).count("out of luck") == 4
    assert as_csv(replace(empty_study, rows=())).count("\n") == 1


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_terminal_is_not_told_what_to_do(hostile_study: ScalingStudy, width: int) -> None:
    text = printed(hostile_study, width)
    assert all(each.isprintable() for line in text.split("\n") for each in line)
    assert max(map(len, text.splitlines())) <= width
    assert len(text) < 200_000


def test_csv_has_a_line_per_row_with_ranges_parts_and_data(study: ScalingStudy) -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(study))))
    assert len(lines) == len(study.rows)
    for line, row in zip(lines, study.rows, strict=True):
        assert (line["mode"], line["target"], int(line["ipus"])) == (row.mode, row.target, row.ipus)
        assert line["problem"] == row.problem
        if not row.figures:
            assert line["throughput"] == line["seconds_compute"] == ""
            continue
        figure = row.figures["throughput"]
        assert [float(line[f"throughput{end}"]) for end in ("", "_low", "_high")] == [
            figure.value,
            figure.low,
            figure.high,
        ]
        assert sum(float(line[f"seconds_{part}"]) for part in BY_KEY) == pytest.approx(
            sum(row.parts.values())
        )
        assert float(line["host_samples_per_second"]) == 900.0


def test_csv_gives_a_spreadsheet_nothing_to_compute(study: ScalingStudy) -> None:
    setting = {**study.rows[0].setting, "target": "@SUM(A1)"}
    rows = (replace(study.rows[0], setting=setting, notes=("\n=1+1",), problem='-2+3+cmd|" /C calc"!A0'),)
    lines = list(csv.DictReader(io.StringIO(as_csv(replace(study, name="=1+1", rows=rows)))))
    for column in ("name", "target", "notes", "problem"):
        assert lines[0][column].startswith("'")


def test_csv_of_hostile_names_can_be_read(hostile_study: ScalingStudy) -> None:
    text = as_csv(hostile_study)
    assert "\x1b" not in text
    assert "\x00" not in text
    assert len(list(csv.DictReader(io.StringIO(text)))) == len(hostile_study.rows)


def test_titles_of_narrow_columns_are_folded_between_words() -> None:
    words = {word for part in BY_KEY.values() for word in part.short.split()}
    folded = {word for part in BY_KEY.values() for word in _folded(part.short).split()}
    assert folded == words
    assert "collectives" in folded
