"""The public questions: subjects from functions, wrapped models and programs; answers without a command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import poptorch
from tremula import ask
from tremula.errors import Error

WIDTH = 32


class Model(nn.Module):
    """Layers and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4)))

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        x = self.layers(x)
        return x if y is None else (x, functional.mse_loss(x, y))


def make() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return Model(), (torch.zeros(4, WIDTH), torch.zeros(4, WIDTH))


def wrapped(accumulation: int = 4) -> Any:
    model, options = Model(), poptorch.Options()
    options.Training.gradientAccumulation(accumulation)
    return poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))


BATCH = torch.zeros(16, WIDTH)


def test_a_wrapped_model_is_asked_about_before_and_after_it_is_compiled() -> None:
    model = wrapped()
    before = ask.estimate(ask.subject(model, BATCH, BATCH)).results[0]
    model.compile(BATCH, BATCH)
    assert before["throughput"].value == pytest.approx(ask.estimate_of(model).throughput)
    assert ask.estimate(ask.subject(model, BATCH, BATCH)).results[0] == before


def test_what_is_no_wrapped_model_is_refused() -> None:
    with pytest.raises(Error, match="is not a wrapped model"):
        ask.subject(Model(), BATCH)


def test_a_split_has_lines_and_one_ipu_has_none() -> None:
    split = ask.split(ask.factory(make), 2)
    assert any("BeginBlock" in line for line in split.lines())
    with pytest.raises(Error, match="cannot be split over 1 IPU"):
        ask.split(ask.factory(make), 1)


def test_results_answers_and_files_are_compared(tmp_path: Path) -> None:
    from tremula.study.saved import save

    subject = ask.factory(make)
    single, half = ask.estimate(subject, precision=["fp32", "fp16"])
    save([half.result], tmp_path / "half.json")
    found = ask.compare(single, tmp_path / "half.json")
    assert found.settings["precision"] == ("fp32", "fp16")
    assert found.to_plain() == ask.compare(single.result, half.result).to_plain()
    with pytest.raises(Error, match="2 answers"):
        ask.compare(ask.estimate(subject, ipus=[1, 2]), half)


def test_a_program_is_run_up_to_its_first_model(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, torch, poptorch\n"
        "model = torch.nn.Linear(8, int(sys.argv[1]))\n"
        "poptorch.inferenceModel(model)(torch.zeros(4, 8))\n"
        "raise SystemExit('too far')\n"
    )
    subject = ask.program(str(program), "3")
    assert (subject.name, subject.parameters, subject.training) == ("Linear", 27, False)
    assert ask.estimate(subject).results[0].fits == "yes"


def test_operations_and_advice_come_from_the_subject_alone() -> None:
    subject = ask.factory(make)
    assert ask.advice(subject, budget_seconds=0.0).before.runs
    assert str(ask.operations(subject))
    with pytest.raises(Error, match="precision"):
        ask.estimate(subject, precision="bf16")
    with pytest.raises(Error, match="2 combinations"):
        ask.advice(subject, ipus=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(Error, match="Unknown setting ipu"):
        ask.advice(subject, ipu=1)  # type: ignore[call-arg]


def test_a_question_needs_no_framework_until_there_is_a_subject() -> None:
    code = "import sys, tremula.ask, tremula.advise.report; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
