"""`tremula demo`: it tells the story with real commands, and praises only what really ran."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import textwrap
from pathlib import Path

import pytest

from tremula.cli import demo
from tremula.cli.main import main
from tremula.telemetry import ledger

#: what stands in for the commands of the story
PROGRAM = """
    import sys
    from tremula.telemetry import ledger

    print("Average/Neutrino_IoU   0.5 (+0.1 -0.1)")
    if "mode=inference" in sys.argv:
        ledger.wrapped("inferenceModel", "Network").executed({calls}, samples=20)
        sys.exit({code})
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, calls: int = 2, code: int = 0) -> None:
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM.format(calls=calls, code=code)))
    monkeypatch.setattr(demo, "_as_modules", lambda words: [sys.executable, str(program), *words])


def test_it_shows_the_commands_that_it_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--print", "--steps", "40"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["cosmictagger"] * 2 + ["poprun"] + ["cosmictagger"] * 2
    assert "run.iterations=40" in lines[2]
    assert not Path("demo").exists()


def test_without_what_it_needs_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "h5py" else found(name))
    assert main(["demo"]) == 1
    said = capsys.readouterr().err
    assert "not installed: h5py" in said
    assert "tremula[apps]" in said


def test_an_earlier_demo_is_left_as_it_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "demo" / "run").mkdir(parents=True)
    assert main(["demo", "--out", "demo"]) == 1
    assert "earlier demo" in capsys.readouterr().err
    assert main(["demo", "--print"]) == 0
    assert "demo-2/events.h5" in capsys.readouterr().out


def test_the_summary_comes_from_what_was_executed(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(place / "state"))
    stand_in(monkeypatch, place)
    assert main(["demo", "--out", "here"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"inferenceModel +2 calls, 20 samples in 1 process", out)
    assert re.search(r"Neutrino_IoU +0.5", out)
    assert re.search(r"event display +here/", out)
    assert [run.calls for run in ledger.read()] == [2]


@pytest.mark.parametrize(
    ("calls", "code", "said"),
    [(2, 3, r"exit code 3\. See its output in demo/inference.log"), (0, 0, "none of them executed a model")],
)
def test_a_run_that_went_wrong_is_not_praised(
    calls: int,
    code: int,
    said: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in(monkeypatch, place, calls, code)
    assert main(["demo"]) == 1
    assert re.search(said, capsys.readouterr().err)


@pytest.mark.parametrize("words", [["--events", "1"], ["--steps", "1"]])
def test_too_little_to_show_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *words]) == 1
    assert "at least" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_story(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--events", "8", "--steps", "4", "--ipus", "1,4"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"trainingModel +8 calls, 8 samples in 2 processes, one virtual IPU each", out)
    assert "2 processes together train like one process" in out
    for line in out.partition("Where everything is")[2].strip().splitlines():
        assert (place / line.split()[-1]).exists(), line
    metrics = json.loads((place / "demo/run/torch/demo/demo/inference.json").read_text())
    assert metrics
