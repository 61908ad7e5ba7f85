"""The TensorFlow programs in examples/ run as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (("keras_training.py",), r"loss per epoch: .*, 0\.00\d\d$"),
        (
            ("-m", "tremula.cli", "run", "--tf1", "tensorflow1_session.py"),
            r"loss: \d.* after 1 step, 0\.0\d+",
        ),
    ],
    ids=["keras", "session"],
)
def test_a_program_runs(command: tuple[str, ...], printed: str, tmp_path: Path) -> None:
    words = [str(EXAMPLES / word) if word.endswith(".py") else word for word in command]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert re.search(printed, ran.stdout, re.MULTILINE), ran.stdout
