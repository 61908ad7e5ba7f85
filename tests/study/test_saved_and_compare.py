"""Answers in files, and two of them side by side."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.frontends.torch.subject import TorchSubject
from tremula.study import saved
from tremula.study.answer import ask
from tremula.study.compare import compare
from tremula.study.finding import Finding
from tremula.study.question import Question


@pytest.fixture(scope="module")
def findings(stack: Callable[..., TorchSubject]) -> tuple[Finding, ...]:
    question = Question.of(micro_batch=[4, 16], precision=["fp32", "fp16"], target="mk2")
    return ask(stack(), question).findings


def test_what_is_saved_is_read_back(findings: tuple[Finding, ...], tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    saved.save(findings, path)
    assert saved.is_saved(path)
    assert saved.read(path) == list(findings)
    assert [each.name for each in tmp_path.iterdir()] == ["answers.json"]


def test_a_file_that_cannot_be_written_is_told_and_loses_nothing(
    findings: tuple[Finding, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(Error, match="cannot be written"):
        saved.save(findings, tmp_path / "file" / "answers.json")
    assert (tmp_path / "file").read_text() == "kept"


def test_damaged_files_are_refused_or_read_right(findings: tuple[Finding, ...], tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    saved.save(findings[:1], path)
    good = path.read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            where = chance.randrange(len(data))
            if chance.random() < 0.5:
                data[where] = chance.randrange(256)
            else:
                del data[where : where + chance.randint(1, 40)]
        path.write_bytes(data)
        with contextlib.suppress(Error):  # which says what is wrong; anything else would be a fault
            for finding in saved.read(path):
                assert isinstance(finding, Finding)
                for figure in finding.figures.values():
                    assert isinstance(figure.value, float)


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"format": "tremula estimate"},
        {"format": "tremula estimate", "version": 99, "findings": [1]},
        {"format": "tremula estimate", "version": 1, "findings": []},
        {"format": "tremula estimate", "version": 1, "findings": [{"name": 1}]},
    ],
)
def test_other_json_is_refused(data: object, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(data))
    with pytest.raises(Error, match=r"other\.json"):
        saved.read(path)


def test_differences_add_up(findings: tuple[Finding, ...]) -> None:
    for other in findings[1:]:
        found = compare(findings[0], other)
        assert sum(part.change for part in found.parts) == pytest.approx(
            found.total.change, rel=1e-9, abs=1e-15
        )
        total = other["ipu_bytes"].value - findings[0]["ipu_bytes"].value
        assert sum(use.change for use in found.memory) == pytest.approx(total)


def test_what_was_changed_is_named_and_nothing_else(findings: tuple[Finding, ...]) -> None:
    found = compare(findings[0], findings[1])
    assert set(found.settings) == {"precision"}
    assert found.settings["precision"] == ("fp32", "fp16")
    assert "no setting is different" in str(compare(findings[0], findings[0]))


def test_text_and_page_say_the_same(findings: tuple[Finding, ...]) -> None:
    hostile = replace(findings[1], name="<script>alert(1)</script>\x1b[31m")
    found = compare(findings[0], hostile)
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    json.dumps(found.to_plain())


def test_a_side_without_figures_cannot_be_compared(findings: tuple[Finding, ...]) -> None:
    with pytest.raises(Error, match="B has no figures"):
        compare(findings[0], replace(findings[0], problem="it does not run"))
