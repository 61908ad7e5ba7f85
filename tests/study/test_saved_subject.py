"""Saved programs: the same answers as the model, without its framework; what needs the model is refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tremula import ask
from tremula.errors import Error
from tremula.study.subject import Subject

QUESTIONS: list[dict[str, Any]] = [
    {},
    {"ipus": [1, 4], "target": ["bow", "mk2"]},
    {"stages": 2, "accumulation": 8},
    {"stages": 4, "accumulation": 16, "recompute": ["none", "all"], "replicas": 2},
    {"device_iterations": [1, 50]},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_answers_are_those_of_the_model(
    stack: Callable[..., Subject], tmp_path: Path, question: dict[str, Any], training: bool
) -> None:
    if not training:
        question = {k: v for k, v in question.items() if k not in ("accumulation", "recompute")}
        question |= {"device_iterations": 16} if "stages" in question else {}
    model = stack(training=training)
    ask.save_program(model, tmp_path / "stack.program")
    saved = ask.saved_program(tmp_path / "stack.program")
    assert ask.estimate(saved, **question).results == ask.estimate(model, **question).results


def test_partial_sums_are_those_of_the_question(tmp_path: Path) -> None:
    def half() -> Any:
        return nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8)).half(), (torch.empty(8, 64).half(),)

    model = ask.factory(half)
    ask.save_program(model, tmp_path / "half.program")
    saved = ask.saved_program(tmp_path / "half.program")
    for precision in ("fp16.32", "fp16.16"):
        (found,), (again,) = (ask.estimate(each, precision=precision).results for each in (model, saved))
        assert again == found
        assert found.setting["partials"] == f"fp{precision[-2:]}"


def test_splits_have_the_same_lines(stack: Callable[..., Subject], tmp_path: Path) -> None:
    model = stack(layers=6)
    ask.save_program(model, tmp_path / "stack.program")
    found, again = (
        ask.split(each, 2, accumulation=8) for each in (model, ask.saved_program(tmp_path / "stack.program"))
    )
    assert str(again) == str(found)


@pytest.mark.parametrize(
    ("question", "text"),
    [({"micro_batch": 4}, "micro-batch of 8"), ({"precision": "fp16"}, "Use the model itself")],
)
def test_what_needs_another_capture_is_refused(
    stack: Callable[..., Subject], tmp_path: Path, question: dict[str, Any], text: str
) -> None:
    ask.save_program(stack(), tmp_path / "stack.program")
    (found,) = ask.estimate(ask.saved_program(tmp_path / "stack.program"), **question)
    assert text in found.problem


def test_advice_leaves_out_what_needs_the_model(stack: Callable[..., Subject], tmp_path: Path) -> None:
    ask.save_program(stack(), tmp_path / "stack.program")
    found = ask.advice(ask.saved_program(tmp_path / "stack.program"), budget_seconds=5)
    assert any("deviceIterations" in line for each in found for line in each.code)


def test_a_changed_description_is_refused(stack: Callable[..., Subject], tmp_path: Path) -> None:
    path = tmp_path / "stack.program"
    ask.save_program(stack(), path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for change, text in (
        ({"micro_batch": "8"}, "micro_batch"),
        ({"front_end": "other"}, "front end 'other'"),
    ):
        document = json.loads(content["program.json"])
        document["about"] |= change
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (content | {"program.json": json.dumps(document).encode()}).items():
                archive.writestr(name, data)
        with pytest.raises(Error, match=text):
            ask.saved_program(path)


def test_an_op_in_a_segment_that_is_not_there_is_refused(
    stack: Callable[..., Subject], tmp_path: Path
) -> None:
    path = tmp_path / "stack.program"
    ask.save_program(stack(), path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    stages = np.load(io.BytesIO(content["op_stage.npy"]))
    stages[0] = 2**31 - 1
    changed = io.BytesIO()
    np.save(changed, stages)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (content | {"op_stage.npy": changed.getvalue()}).items():
            archive.writestr(name, data)
    with pytest.raises(Error, match=r"stack\.program is damaged: the op .* is in segment 2147483647"):
        ask.saved_program(path)


def test_the_command_loads_no_framework(stack: Callable[..., Subject], tmp_path: Path) -> None:
    ask.save_program(stack(), tmp_path / "stack.program")
    code = (
        "import sys\n"
        "for name in ('torch', 'tensorflow', 'onnx'):\n"
        "    sys.modules[name] = None  # importing it fails\n"
        "from tremula.cli.main import main\n"
        "sys.exit(main(['estimate', 'stack.program', '--stages', '2', '--accumulation', '8', '--csv']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2
