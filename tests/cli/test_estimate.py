"""`tremula estimate` and `tremula compare` as a user types them."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tremula.ask.loading import load
from tremula.cli.main import main
from tremula.frontends.torch.factory import make, subject_of
from tremula.recording import write_profile
from tremula.study.answer import ask
from tremula.study.case import Study
from tremula.study.question import Question
from tremula.telemetry import ledger

MODEL = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.first = torch.nn.Linear(16, width)
            self.last = torch.nn.Linear(width, 4)

        def forward(self, x, y=None):
            x = self.last(torch.relu(self.first(x)))
            return x if y is None else (x, torch.nn.functional.cross_entropy(x, y))

    def trained():
        return Net(), (torch.zeros(8, 16), torch.zeros(8, dtype=torch.long))

    def example():
        return Net(), torch.zeros(8, 16)

    def needs_an_argument(width):
        return Net(width), torch.zeros(8, 16)
"""

PROGRAM = """
    import sys
    import torch, poptorch
    from model import Net

    print("arguments", sys.argv[1:])
    run = poptorch.inferenceModel(Net())
    print("result", tuple(run(torch.zeros(2, 16)).shape))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "model.py").write_text(textwrap.dedent(MODEL))
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "nothing.py").write_text("print('nothing wrapped here')\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREMULA_SUMMARY", "0")
    import sys

    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_a_model_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py:trained", "--ipus", "1,2", "--target", "bow", "--no-advice"]) == 0
    out = capsys.readouterr().out
    assert "model:trained: training, 676 parameters, fp32 weights" in out
    assert "modelled, not measured" in out
    assert "global batch 16 per weight update" in out


def test_options_may_stand_on_either_side_of_the_subject(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--csv", "--target", "bow", "model.py"]) == 0
    before = capsys.readouterr().out
    assert main(["estimate", "model.py", "--csv", "--target", "bow"]) == 0
    assert capsys.readouterr().out == before
    assert next(iter(csv.DictReader(io.StringIO(before))))["target"] == "bow"


def test_json_holds_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py:trained", "--stages", "2", "--json", "--advice-seconds", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    answer = found["answers"][0]
    assert found["modelled"] is True
    assert set(answer["figures"]["throughput"]) == {"value", "low", "high", "unit"}
    assert answer["split"]["stages"]
    assert {"advice", "compile_time", "operations"} <= set(found)


def test_advice_comes_with_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py:trained", "--advice-seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert "Advice, by predicted effect (modelled)" in out
    assert "options.deviceIterations(" in out
    assert "ompil" in out  # the predicted compile time


def test_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py", "--why", "cycles_per_step"]) == 0
    assert "largest ops" in capsys.readouterr().out
    assert main(["estimate", "model.py", "--why", "memory", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["why"].startswith("memory")
    assert main(["estimate", "model.py", "--why", "memory", "--csv"]) == 1
    assert "cannot be used together" in capsys.readouterr().err
    assert main(["estimate", "model.py", "--why", "cyclesper_step"]) == 1
    assert "Did you mean cycles_per_step" in capsys.readouterr().err


def test_a_figure_that_there_is_not_is_refused_before_anything_is_captured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--why", "foo", "run", "program.py"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "", "the program was not run"
    assert "no figure or op called 'foo'" in captured.err
    assert main(["estimate", "--why", "relu", "model.py"]) == 0
    assert "compute" in capsys.readouterr().out
    assert main(["estimate", "--why", "relu_17", "model.py"]) == 1


def test_stopped_while_it_looks_for_advice_it_lists_what_was_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = Study.estimate
    seen: list[object] = []

    def stop_at_the_sixth(self: Study, case: object, **more: object) -> object:
        seen.append(case)
        if len(seen) > 5:
            raise KeyboardInterrupt
        return tried(self, case, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Study, "estimate", stop_at_the_sixth)
    assert main(["estimate", "model.py:trained"]) == 130
    captured = capsys.readouterr()
    assert "Run 64 device iterations per call" in captured.out
    assert "options.deviceIterations(64)" in captured.out
    assert captured.err.endswith("tremula: stopped; the advice above was found before the interrupt\n")


def test_advice_is_told_as_it_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py:trained", "--advice-seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert out.index("samples/s") < out.index("Looking for advice")
    assert out.index("  Run 4 device iterations per call") < out.index("Advice, by predicted effect")


def test_an_unchanged_program_is_run_up_to_its_first_call(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--no-advice", "run", "program.py", "--", "--ipus", "7", "x"]) == 0
    out = capsys.readouterr().out
    assert "arguments ['--ipus', '7', 'x']" in out
    assert "Net: inference" in out
    assert "result" not in out


def test_a_program_may_go_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--no-advice", "--go-on", "run", "program.py"]) == 0
    out = capsys.readouterr().out
    assert out.index("Net: inference") < out.index("result (2, 4)")


def test_what_scripts_read_is_not_mixed_with_what_the_program_prints(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--csv", "--go-on", "run", "-m", "program"]) == 0
    captured = capsys.readouterr()
    assert len(list(csv.DictReader(io.StringIO(captured.out)))) == 1
    assert "result (2, 4)" in captured.err


def test_a_model_that_is_compiled_for_several_shapes_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "twice.py").write_text(
        "import torch, poptorch\nfrom model import Net\n"
        "for batch in (4, 3):\n    poptorch.inferenceModel(Net())(torch.zeros(batch, 16))\n"
    )
    assert main(["estimate", "--no-advice", "--go-on", "run", "twice.py"]) == 0
    out = capsys.readouterr().out
    assert "Net (inference) is compiled more than once" in out
    assert "drop_last" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py:make"], "nowhere.py does not exist"),
        (["model.py:nothing"], "has no function nothing"),
        (["model.py:Net"], "factory"),
        (["run"], "no program was given"),
        (["run", "nowhere.py"], "there is no program nowhere.py"),
        (["run", "nothing.py"], "without calling a wrapped model"),
        (["run", "leaves.py"], "ended (3) before"),
        (["model.py", "--precision", "bf16"], "fp32, fp16"),
        (["model.py", "other.py"], "more than one SUBJECT"),
        (["model.py", "--save", "model.py/x.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["estimate", "--no-advice", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_number_that_is_none_is_a_wrong_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--ipus", "many", "model.py"]) == 2
    assert "like 1,2,4" in capsys.readouterr().err


def test_nothing_answered_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "model.py", "--ipus", "3", "--stages", "2", "--no-advice"]) == 1
    assert "no answer for" in capsys.readouterr().out


def test_compare_saved_estimates_and_command_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["estimate", "model.py", "--ipus", "1,2", "--target", "mk2", "--csv", "--save", "both.json"])
        == 0
    )
    capsys.readouterr()
    assert main(["compare", "both.json#1", "model.py --target bow"]) == 0
    out = capsys.readouterr().out
    assert "mk2  ->  bow" in out
    assert main(["compare", "both.json#1", "both.json#2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["replicas"] == [1, 2]


def test_compare_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "run program.py", "model.py --micro-batch 2"]) == 0
    assert "no setting changed" in capsys.readouterr().out


def test_compare_profiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, target in (("a.pop", "mk2"), ("b.pop", "bow")):
        found = (
            ask(subject_of(make(load("model.py")[0]), "model"), Question.of(target=target))
            .answers[0]
            .estimate
        )
        assert found is not None
        write_profile(found, name)
    assert main(["compare", "a.pop", "b.pop"]) == 0
    assert "mk2  ->  bow" in capsys.readouterr().out
    assert main(["compare", "a.pop", "b.pop", "--fail-if", "worst_tile>+2%"]) == 0
    assert "kept" in capsys.readouterr().out
    gate = ["compare", "b.pop", "a.pop", "--fail-if", "throughput<-0.01%", "--fail-if", "tile_share>99%"]
    assert main(gate) == 3
    shown = capsys.readouterr()
    assert "EXCEEDED" in shown.out
    assert "limit throughput<-0.01% exceeded" in shown.err
    assert main([*gate, "--markdown"]) == 3
    assert capsys.readouterr().out.startswith("### Modelled on the IPU: 1 of 2 limits exceeded")
    assert main([*gate, "--json"]) == 3
    assert [each["exceeded"] for each in json.loads(capsys.readouterr().out)["limits"]] == [True, False]
    assert main(["compare", "a.pop", "b.pop", "--fail-if", "nonsense"]) == 1
    assert "is not a limit" in capsys.readouterr().err
    (folder / "a.pop").write_bytes(b"something else")
    assert main(["compare", "a.pop", "b.pop"]) == 1
    assert "cannot be read as a profile" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("a", "message"),
    [
        ("both.json", "choose one"),
        ("both.json#3", "there is no #3"),
        ("", "empty"),
        ("model.py --ipus 1,2", "gives 2 estimates"),
        ("nowhere.json", "No module or file named"),
        ("'unclosed", "quotation"),
    ],
)
def test_a_side_that_cannot_be_read_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], a: str, message: str
) -> None:
    assert (
        main(["estimate", "model.py", "--ipus", "1,2", "--target", "mk2", "--csv", "--save", "both.json"])
        == 0
    )
    capsys.readouterr()
    assert main(["compare", a, "both.json#1"]) == 1
    assert message in capsys.readouterr().err


def test_a_program_that_was_asked_about_has_not_failed(folder: Path) -> None:
    before = ledger.current()
    known = len(before.models) if before is not None else 0
    assert main(["estimate", "--no-advice", "run", "program.py"]) == 0
    run = ledger.current()
    assert run is not None
    assert [entry.failures for entry in run.models[known:]] == [0]
