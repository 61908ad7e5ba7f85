"""A study in its folder: it goes on from what is kept, and takes nothing that does not belong to it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.scale.models import stack

from tremula.errors import Error
from tremula.frontends.torch.subject import TorchSubject
from tremula.scale import layouts
from tremula.scale.document import plain, read
from tremula.scale.question import WEAK, ScaleQuestion
from tremula.scale.row import DataRate, Measured, ScalingStudy
from tremula.scale.run import DOCUMENT, make_study

QUESTION = ScaleQuestion.of(target=("mk2",), ipus=(1, 2), stages=(1,), mode=(WEAK,), per_ipu=2)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes that were modelled."""
    found: list[int] = []
    model = layouts.Layouts.tried

    def counted(self: layouts.Layouts, target: str, ipus: int, *rest: object) -> object:
        found.append(ipus)
        return model(self, target, ipus, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(layouts.Layouts, "tried", counted)
    return found


def made(folder: Path, subject: TorchSubject | None = None, **changes: object) -> ScalingStudy:
    asked = {"command": "tremula scale", "folder": folder, "tell": lambda *_: None, **changes}
    question = asked.pop("question", QUESTION)
    return make_study(subject or stack(), question, **asked)  # type: ignore[arg-type]


def test_what_is_written_is_read_back_the_same(tmp_path: Path) -> None:
    measured = Measured(problems=("2 processes: it was too slow",))
    study = made(tmp_path, data=DataRate(100.0, "given"), measuring=("words", lambda ipus: measured))
    assert read(tmp_path / DOCUMENT) == study
    assert study.measured is not None
    assert study.measured.problems == measured.problems
    assert {row.ipus for row in study.rows} == {1, 2}


def test_a_second_run_models_nothing_and_measures_nothing_again(tmp_path: Path, tried: list[int]) -> None:
    calls: list[int] = []

    def measure(ipus: int) -> Measured:
        calls.append(ipus)
        return Measured(threads=1)

    first = made(tmp_path, measuring=("words", measure))
    assert tried == [1, 2]
    assert made(tmp_path, measuring=("words", measure)) == first
    assert (tried, calls) == ([1, 2], [1])
    made(tmp_path, measuring=("other words", measure))
    assert calls == [1, 1]
    made(tmp_path, fresh=True)
    assert tried == [1, 2, 1, 2]


def test_more_sizes_are_added_to_those_that_are_known(tmp_path: Path, tried: list[int]) -> None:
    made(tmp_path)
    more = ScaleQuestion.of(target=("mk2",), ipus=(1, 2, 4), stages=(1,), mode=(WEAK,), per_ipu=2)
    study = made(tmp_path, question=more)
    assert tried == [1, 2, 4]
    assert study == made(tmp_path / "other", question=more)


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        (stack(width=65), QUESTION),
        (stack(batch=4), QUESTION),
        (stack(), ScaleQuestion.of(target=("mk2",), ipus=(1, 2), stages=(1,), mode=(WEAK,), per_ipu=3)),
        (stack(), ScaleQuestion.of(target=("bow",), ipus=(1, 2), stages=(1,), mode=(WEAK,), per_ipu=2)),
    ],
)
def test_another_model_or_question_is_modelled_anew(
    subject: TorchSubject, question: ScaleQuestion, tmp_path: Path, tried: list[int]
) -> None:
    made(tmp_path)
    del tried[:]
    assert made(tmp_path, subject, question=question) == made(tmp_path / "other", subject, question=question)
    assert tried == [1, 2, 1, 2]


def test_a_run_that_is_stopped_keeps_what_it_has(tmp_path: Path, tried: list[int]) -> None:
    def stop(what: str, share: float) -> None:
        if "2 IPUs" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, tell=stop)
    assert [row.ipus for row in read(tmp_path / DOCUMENT).rows] == [1]
    assert json.loads((tmp_path / DOCUMENT).read_text())["complete"] is False
    made(tmp_path)
    assert tried == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": "tremula scale"}', "\x00", '{"format": "tremula scale", "version": 1}'],
)
def test_a_damaged_file_is_told_when_it_is_asked_for_and_replaced_when_it_is_in_the_way(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / DOCUMENT).write_text(text)
    with pytest.raises(Error):
        read(tmp_path / DOCUMENT)
    study = made(tmp_path)
    assert read(tmp_path / DOCUMENT) == study


def _places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, each in value.items():
            found += _places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            found += _places(each, (*path, number))
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.data())
def test_a_file_that_somebody_changed_is_read_whole_or_refused(data: some.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    document = json.loads(json.dumps(plain(_study(tmp_path))))
    *before, last = data.draw(some.sampled_from(_places(document)))
    inside = document
    for key in before:
        inside = inside[key]
    inside[last] = data.draw(
        some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5)
        | some.lists(some.integers(), max_size=2) | some.dictionaries(some.text(max_size=3), some.none(), max_size=2)
    )  # fmt: skip
    path.write_text(json.dumps(document))
    with contextlib.suppress(Error):  # anything else would be a crash
        assert isinstance(read(path), ScalingStudy)


_known: list[ScalingStudy] = []


def _study(folder: Path) -> ScalingStudy:
    if not _known:
        _known.append(made(folder / "kept"))
    return _known[0]
