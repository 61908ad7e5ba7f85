"""`tremula scale` as a user types it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tremula.cli.main import main
from tremula.distributed.host_run import HostRun
from tremula.scale.document import read
from tremula.scale.row import Measured

PROGRAM = """
    import sys
    import poptorch, torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)

        def forward(self, x, y):
            x = self.two(torch.relu(self.one(x)))
            return x, torch.nn.functional.cross_entropy(x, y)

    print("arguments", sys.argv[1:])
    torch.manual_seed(0)
    model, options = Model(), poptorch.Options()
    data = torch.utils.data.TensorDataset(torch.randn(64, 6), torch.randint(3, (64,)))
    training = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
    try:
        for x, y in poptorch.DataLoader(options, data, batch_size=4):
            training(x, y)
    except Exception:  # a program may catch what it likes
        sys.exit(7)
    print("not reached")
"""
FUNCTION = """
    import torch

    def example():
        return torch.nn.Linear(8, 8), torch.zeros(4, 8)
"""
TRAINED = """
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Linear(8, 8)

        def forward(self, x):
            y = self.one(x)
            return y, (y - x).pow(2).mean()

    def make():
        return Model(), torch.randn(4, 8)
"""
#: modelled in moments
QUICK = ["--ipus", "1,2", "--target", "mk2", "--stages", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "model.py").write_text(textwrap.dedent(FUNCTION))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tremula.scale.data_rate._SECONDS", 0.1)  # of reading the program's loader
    return tmp_path


def test_a_program_is_studied_and_measured_in_one_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", ["/usr/bin/tremula", "scale", *QUICK, "train.py"])
    assert main(["scale", *QUICK, "train.py", "--lr", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "modelled" in out
    assert "weak" in out
    assert "strong" in out
    assert "measured" in out
    assert "arguments" not in out  # what the program prints is in its log
    assert "['--lr', '0.1']" in (folder / "scale-train" / "program.log").read_text()
    study = read(folder / "scale-train" / "scale.json")
    assert [(row.mode, row.ipus) for row in study.rows] == [
        ("weak", 1), ("weak", 2), ("strong", 1), ("strong", 2),
    ]  # fmt: skip
    assert study.measured is not None
    assert [run.equivalent for run in study.measured.runs] == [
        None,
        True,
    ]  # one alone is what the other is compared with
    assert study.data is not None
    assert study.data.origin == "measured"
    assert study.command == "tremula scale --ipus 1,2 --target mk2 --stages 1 train.py"
    page = (folder / "scale-train" / "scale.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert list((folder / "scale-train").glob("*.png"))
    assert list((folder / "scale-train").glob("*.svg"))


def test_options_behind_the_program_are_obeyed(folder: Path) -> None:
    quiet = ["--no-measure", "--no-plots", "--out", "here", "--mode", "weak"]
    assert main(["scale", "train.py", *QUICK, *quiet, "--", "--out", "there"]) == 0
    assert [row.ipus for row in read(folder / "here" / "scale.json").rows] == [1, 2]
    assert "['--out', 'there']" in (folder / "here" / "program.log").read_text()


def test_a_program_may_close_its_output(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    closing = "import os\nos.close(1)\nheld = os.open('elsewhere', os.O_CREAT | os.O_WRONLY)\n"
    (folder / "train.py").write_text(closing + textwrap.dedent(PROGRAM))
    assert main(["scale", *QUICK, "--no-measure", "--no-plots", "--brief", "train.py"]) == 0
    assert "Weak scaling" in capfd.readouterr().out
    assert (folder / "elsewhere").read_text() == ""


def test_the_command_of_a_module_is_shown_as_one_that_can_be_run(folder: Path) -> None:
    (folder / "tagger").mkdir()
    (folder / "tagger" / "__main__.py").write_text(
        "from tremula.cli.scale import _command\nprint(_command())\n"
    )
    for module, name in (("tagger", "tagger"), ("tagger.__main__", "tagger")):
        done = subprocess.run(
            [sys.executable, "-m", module, "scale", "a b"], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{name} scale 'a b'\n"


def test_scripts_read_the_study_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", *QUICK, "--no-measure", "--no-plots", "--json", "train.py"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    assert len(document["study"]["rows"]) == 4
    assert main(["scale", *QUICK, "--no-measure", "--no-plots", "--csv", "train.py"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["mode"], row["ipus"]) for row in rows][:2] == [("weak", "1"), ("weak", "2")]


def test_a_function_that_makes_a_model_is_studied_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", *QUICK, "--no-plots", "--out", "here", "--mode", "weak", "model.py:example"]) == 0
    study = read(folder / "here" / "scale.json")
    assert not study.training
    assert study.measured is None
    assert "nothing is measured" in capsys.readouterr().err
    assert {row.mode for row in study.rows} == {"weak"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.py"], "no program nowhere.py"),
        (["--mode", "weakly", "train.py"], "mode must be one of weak, strong"),
        (["--loader-rate", "0", "train.py"], "more than 0"),
        (["--measure-steps", "1", "train.py"], "at least two steps"),
        (["model.py:example", "more"], "unexpected arguments"),
        (["--optimizer", "adam", "train.py"], "a program sets its own optimizer"),
        (["--recompute", "all", "model.py:example"], "do not apply to inference"),
        (["--device-iterations", "4", "model.py:example"], "do not apply to inference"),
        (["--target", "nothing", "train.py"], "nothing"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", "--no-plots", "--ipus", "1", *words]) == 1
    printed = capsys.readouterr()
    assert said in printed.err + printed.out
    assert "Traceback" not in printed.err


@pytest.mark.slow
def test_a_function_that_makes_a_trained_model_is_measured_too(folder: Path) -> None:
    (folder / "trained.py").write_text(textwrap.dedent(TRAINED))
    words = ["scale", *QUICK, "--no-plots", "--mode", "weak", "--measure", "2", "--optimizer", "adam"]
    assert main([*words, "trained.py:make"]) == 0
    study = read(folder / "scale-trained" / "scale.json")
    assert study.measured is not None
    assert [run.equivalent for run in study.measured.runs] == [True]


def test_a_program_that_goes_elsewhere_leaves_the_study_here(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "elsewhere").mkdir()
    text = (folder / "train.py").read_text()
    (folder / "wanders.py").write_text("import os\nos.chdir('elsewhere')\n" + text)
    assert main(["scale", *QUICK, "--no-plots", "--mode", "weak", "--measure", "1", "wanders.py"]) == 0
    assert Path.cwd() == folder
    assert not list((folder / "elsewhere").iterdir())
    assert "page   scale-wanders/scale.html" in capsys.readouterr().out
    study = read(folder / "scale-wanders" / "scale.json")
    assert study.measured is not None
    assert not study.measured.problems


def test_what_was_measured_is_measured_again_when_the_program_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def measured(*_: object, **__: object) -> Measured:
        calls.append(1)
        return Measured(threads=1)

    monkeypatch.setattr("tremula.scale.measure.measure", measured)
    words = ["scale", *QUICK, "--no-plots", "--mode", "weak", "train.py"]
    for text, expected in (("", 1), ("", 1), ("# another\n", 2), ("", 2)):
        (folder / "train.py").write_text((folder / "train.py").read_text() + text)
        assert main(words) == 0
        assert len(calls) == expected


def test_a_proof_that_fails_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = HostRun(2, 3, 8, 0.1, 0.0, 0.5, 1e-4, False)
    monkeypatch.setattr("tremula.scale.measure.measure", lambda *_, **__: Measured((bad,)))
    assert main(["scale", *QUICK, "--no-plots", "--mode", "weak", "train.py"]) == 1
    assert "trained to another result" in capsys.readouterr().err


def test_nothing_is_begun_for_a_program_that_is_not_there(folder: Path) -> None:
    assert main(["scale", *QUICK, "nowhere.py"]) == 1
    assert not (folder / "scale-nowhere").exists()


def test_stopped_in_between_it_says_where_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tremula.scale.run.make_study", stop)
    assert main(["scale", *QUICK, "--no-measure", "train.py"]) == 130
    assert "continues from there" in capsys.readouterr().err
