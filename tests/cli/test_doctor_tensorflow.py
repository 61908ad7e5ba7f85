"""`tremula doctor` on TensorFlow, with and without it installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tremula.cli import doctor, doctor_tensorflow
from tremula.frontends.tensorflow import hooks, versions


def findings(monkeypatch: pytest.MonkeyPatch, *found: str) -> list[tuple[str, str, str]]:
    monkeypatch.setattr(versions, "installed", lambda: versions.Versions(*found))
    return [(each.level, each.about, each.text) for each in doctor_tensorflow.check_tensorflow()]


def test_no_tensorflow_is_a_note_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    [(level, _, text)] = findings(monkeypatch, "", "", "")
    assert level == "note"
    assert "pip install 'tremula[tensorflow]'" in text


def test_a_release_that_cannot_run_programs_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    [(level, _, text)] = findings(monkeypatch, "2.9.3", "2.9.0", "")
    assert level == "problem"
    assert "2.9.3 is not supported" in text


@pytest.mark.parametrize(
    ("found", "shown"),
    [(("2.15.1", "2.15.0", ""), "Keras 2.15.0"), (("2.20.0", "3.9", "2.20.1"), "tf_keras 2.20.1")],
)
def test_each_tier_shows_versions_and_every_hook(
    monkeypatch: pytest.MonkeyPatch, found: tuple[str, str, str], shown: str
) -> None:
    first, finder, *rest = findings(monkeypatch, *found)
    assert first[0] == "ok"
    assert found[0] in first[2]
    assert shown in first[2]
    assert finder[1] == "tensorflow.python.ipu"
    assert [text.partition(":")[0] for _, _, text in rest] == [
        hook.target.partition(":")[0] for hook in hooks.HOOKS
    ]


@pytest.mark.parametrize(("answer", "level"), [("True\n", "ok"), ("False\n", "problem")])
def test_whether_new_processes_find_the_modules(
    monkeypatch: pytest.MonkeyPatch, answer: str, level: str
) -> None:
    monkeypatch.setattr(
        subprocess, "run", lambda *_args, **_kwargs: subprocess.CompletedProcess([], 0, answer, "")
    )
    finding = doctor_tensorflow._finder()
    assert finding.level == level


def test_the_check_is_part_of_the_doctor_and_imports_no_tensorflow() -> None:
    assert doctor_tensorflow.check_tensorflow in doctor.CHECKS
    script = (
        "import sys; from tremula.cli import doctor_tensorflow as d; list(d.check_tensorflow()); "
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
