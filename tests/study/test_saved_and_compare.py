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
from tremula.study.question import Question
from tremula.study.result import Result


@pytest.fixture(scope="module")
def results(stack: Callable[..., TorchSubject]) -> tuple[Result, ...]:
    question = Question.of(micro_batch=[4, 16], precision=["fp32", "fp16"], target="mk2")
    return ask(stack(), question).results


def test_what_is_saved_is_read_back(results: tuple[Result, ...], tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    saved.save(results, path)
    assert saved.is_saved(path)
    assert saved.read(path) == list(results)
    assert [each.name for each in tmp_path.iterdir()] == ["answers.json"]


def test_the_host_of_an_earlier_version_is_read_in_two_parts(
    results: tuple[Result, ...], tmp_path: Path
) -> None:
    path = tmp_path / "answers.json"
    saved.save(results[:1], path)
    document = json.loads(path.read_text())
    shares = document["findings"][0]["shares"]
    shares["host"] = shares.pop("host_call") + shares.pop("host_transfer")
    path.write_text(json.dumps(document))
    found, expected = dict(saved.read(path)[0].shares), dict(results[0].shares)
    # by the call's overhead of that version, which was another one
    assert found["host_call"] > found["host_transfer"] >= 0
    whole = [shares.pop("host_call") + shares.pop("host_transfer") for shares in (found, expected)]
    assert whole[0] == pytest.approx(whole[1])
    assert found == pytest.approx(expected)


def test_a_file_that_cannot_be_written_is_told_and_loses_nothing(
    results: tuple[Result, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(Error, match="cannot be written"):
        saved.save(results, tmp_path / "file" / "answers.json")
    assert (tmp_path / "file").read_text() == "kept"


def test_damaged_files_are_refused_or_read_right(results: tuple[Result, ...], tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    saved.save(results[:1], path)
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
            for result in saved.read(path):
                assert isinstance(result, Result)
                for figure in result.figures.values():
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


@pytest.mark.parametrize("value", [0, -1, "2", [2], 2.0, None, True])
def test_a_number_of_replicas_is_a_number(results: tuple[Result, ...], tmp_path: Path, value: object) -> None:
    path = tmp_path / "saved.json"
    saved.save(results, path)
    document = json.loads(path.read_text())
    document["findings"][0]["setting"]["replicas"] = value
    path.write_text(json.dumps(document))
    with pytest.raises(Error, match=r"saved\.json is damaged: replicas is"):
        saved.read(path)


@pytest.mark.parametrize("name", ["throughput", "step_seconds", "tile_share"])
def test_a_result_has_the_figures_that_comparisons_need(
    results: tuple[Result, ...], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "saved.json"
    saved.save(results, path)
    document = json.loads(path.read_text())
    del document["findings"][0]["figures"][name]
    path.write_text(json.dumps(document))
    with pytest.raises(Error, match=rf"saved\.json is damaged: it has no figure {name}"):
        saved.read(path)


def test_a_file_whose_answer_is_a_problem_is_named(results: tuple[Result, ...], tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    saved.save([Result("net", True, {}, problem="it has no stages"), results[0]], path)
    with pytest.raises(Error, match=r"saved\.json#1 has no figures: it has no stages"):
        saved.read_one(f"{path}#1")
    assert saved.read_one(f"{path}#2").figures == results[0].figures


def test_differences_add_up(results: tuple[Result, ...]) -> None:
    for other in results[1:]:
        found = compare(results[0], other)
        assert sum(part.change for part in found.parts) == pytest.approx(
            found.total.change, rel=1e-9, abs=1e-15
        )
        total = other["ipu_bytes"].value - results[0]["ipu_bytes"].value
        assert sum(use.change for use in found.memory) == pytest.approx(total)


def test_what_was_changed_is_named_and_nothing_else(results: tuple[Result, ...]) -> None:
    found = compare(results[0], results[1])
    assert set(found.settings) == {"precision"}
    assert found.settings["precision"] == ("fp32", "fp16")
    assert "no setting changed" in str(compare(results[0], results[0]))


def test_text_and_page_say_the_same(results: tuple[Result, ...]) -> None:
    hostile = replace(results[1], name="<script>alert(1)</script>\x1b[31m")
    found = compare(results[0], hostile)
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    json.dumps(found.to_plain())


def test_a_side_without_figures_cannot_be_compared(results: tuple[Result, ...]) -> None:
    with pytest.raises(Error, match="B has no figures"):
        compare(results[0], replace(results[0], problem="it does not run"))
