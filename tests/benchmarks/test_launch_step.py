"""The benchmark of training steps in two processes: that it runs, and what it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_row_is_measured_and_written(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.launch_step", "--rows", "mlp", "--json", str(path)]
    command += ["--rounds", "1", "--seconds", "0.05"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (figure,) = json.loads(path.read_text())
    assert figure["row"] == "mlp"
    assert figure["ratio"] > 0
    assert min(figure["theirs_ms"], figure["ours_ms"]) > 0
    assert "MLP" in done.stdout
