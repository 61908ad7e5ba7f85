"""The programs in examples/ run as they are, and print what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: what each program prints, among other things
PRINTED = {
    "custom_operator": r"the cube root of 8 is 2\.000",
    "onnx_question": r"4 IPU\(s\): fits: yes",
    "popart_training": r"step 59: loss 0\.0\d\d\nweights written",
    "poptorch_pipeline": r"two IPUs: [\d,]+ samples/s \(modelled\)",
    "poptorch_training": r"accuracy: 9\d\.\d%",
    "popxl_training": r"slope: 3\.000",
    "read_profile": r"fullest of 1472 tiles: [\d,]+ bytes \(modelled\)",
}
#: started in another way, or in another environment
ELSEWHERE = {"poprun_training", "keras_training", "tensorflow1_session"}


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


def test_the_documentation_lists_every_example() -> None:
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    there = {
        path.relative_to(EXAMPLES.parent).as_posix()
        for path in EXAMPLES.rglob("*")
        if path.suffix in (".py", ".ipynb")
    }
    assert set(re.findall(r"`(examples/[\w/]+\.(?:py|ipynb))`", page)) == there


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PRINTED) | ELSEWHERE


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    shown = run(tmp_path, sys.executable, str(EXAMPLES / f"{name}.py"))
    assert re.search(PRINTED[name], shown), shown


def test_two_processes_train_the_same_weights(tmp_path: Path) -> None:
    program = str(EXAMPLES / "poprun_training.py")
    options = ["--num-instances", "2", "--num-replicas", "2"]
    shown = run(tmp_path, sys.executable, "-m", "tremula.launch", *options, sys.executable, program)
    weights = re.findall(r"instance \d of 2: weights (.*)", shown)
    assert len(weights) == 2
    assert weights[0] == weights[1]
