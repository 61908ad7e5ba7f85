"""The page of the tutorial, its programs and commands, as tests take them."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import poptorch

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PROGRAMS = ROOT / "apps" / "tutorials" / "conversion"
STEPS = [
    "step1_cpu",
    "step2_batch_of_one",
    "step3_loss_in_the_model",
    "step4_training_model",
    "step5_inference_model",
    "step6_half",
    "step6_pipeline",
]
#: What keeps a test short: fewer images, one form of execution, no figures of the chip unless they are asked for.
SHORT = ["--epochs", "2", "--events", "40"]
QUICK = {"TREMULA_EXECUTION": "quick", "TREMULA_CHIP_MODEL": "asked"}


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page in one language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


def shown() -> dict[str, list[str]]:
    """Each command of the page, and the lines that it shows of what the command prints."""
    found: dict[str, list[str]] = {}
    for block in blocks(""):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            found[command] = [line for line in lines if line != "..."]
    return found


SHOWN = shown()
TRAININGS = [command for command in SHOWN if command.startswith("python ")]
ESTIMATES = [command for command in SHOWN if command.startswith("tremula estimate ")]


def run(command: str, folder: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in `folder`; what it prints and what it logs come together."""
    words = shlex.split(command.replace("apps/tutorials/conversion", str(PROGRAMS)))
    while "=" in words[0]:
        name, _, environment[name] = words.pop(0).partition("=")
    starts = {"python": [sys.executable], "tremula": [sys.executable, "-m", "tremula.cli"]}
    return subprocess.run(
        [*starts[words[0]], *words[1:], *more],
        cwd=folder,
        env={**os.environ, "TREMULA_SUMMARY": "1", "COLUMNS": "160", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
        check=False,
    )


def without_numbers(text: str) -> str:
    """A line with one sign for every number, without the time and the spaces at its beginning."""
    text = re.sub(r"^\[[\d:.]+\] ", "", text.strip())
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*\d|\d", "#", re.sub(r"[█▒░]+", "-", text)))


def assert_shown(lines: list[str], output: str) -> None:
    """Every line that the page shows is in the output, whatever the numbers."""
    printed = [without_numbers(line) for line in output.splitlines()]
    for line in lines:
        assert any(without_numbers(line) in each for each in printed), f"{line!r} is not in\n{output}"


def losses_in(output: str) -> dict[int, float]:
    return {int(epoch): float(loss) for epoch, loss in re.findall(r"epoch (\d+): loss (\S+)", output)}


def scores_in(output: str) -> list[float]:
    return [float(score) for score in re.findall(r"IoU (\S+?)(?:,|\n|$)", output)]


def load(name: str) -> ModuleType:
    """A program of the tutorial as a module."""
    spec = importlib.util.spec_from_file_location(f"conversion_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PROGRAMS)
        spec.loader.exec_module(module)
        sys.modules.pop("events")
    return module


def cut(model: Any) -> None:
    """The blocks of step6_pipeline.py."""
    model.enter = poptorch.BeginBlock(model.enter, ipu_id=0)
    model.up1[1] = poptorch.BeginBlock(model.up1[1], ipu_id=1)
